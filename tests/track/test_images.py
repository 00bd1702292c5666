"""Images: figures, pictures, arrays of pixels and files become files of the run."""

import io
import re
import struct
import zlib

import matplotlib
import numpy as np
import pytest
from PIL import Image

import jig
from jig.track import artifacts, png, values

from .conftest import read

matplotlib.use("agg")


@pytest.fixture
def outputs(run_dir, monkeypatch):
    monkeypatch.setattr(artifacts, "_numbers", {})
    folder = run_dir / "work" / "outputs"
    folder.mkdir(parents=True)
    return folder


def logged(run_dir):
    return [{key: line[key] for key in line if key != "time"} for line in read(run_dir / "metrics.jsonl")]


def pixels(path):
    with Image.open(path) as image:
        image.load()
        return np.asarray(image)


def figure():
    from matplotlib.figure import Figure

    made = Figure(figsize=(2, 1), dpi=50)
    made.subplots().plot([1, 2, 3])
    return made


SHAPES = [(3, 5), (3, 5, 1), (3, 5, 3), (3, 5, 4), (1, 1), (1, 7, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_array_of_bytes_is_kept_pixel_for_pixel(run_dir, outputs, shape, capsys):
    array = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    jig.log_image("sample", array, step=4)
    assert logged(run_dir) == [{"step": 4, "values": {"sample": {"image": "outputs/images/sample-1.png"}}}]
    assert np.array_equal(pixels(outputs / "images" / "sample-1.png"), array.squeeze(2) if shape[2:] == (1,) else array)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[0.0, 0.5], [1.0, 7.0]]), [[0, 128], [255, 255]]),
        (np.array([[np.nan, 1.0]], dtype=np.float32), [[0, 255]]),
        (np.array([[True, False]]), [[255, 0]]),
        (np.array([[-5, 300, 7]]), [[0, 255, 7]]),
        (np.arange(6, dtype=np.uint8).reshape(2, 3)[:, ::-1], [[2, 1, 0], [5, 4, 3]]),
        ([[0, 255], [1, 2]], [[0, 255], [1, 2]]),
        ([[(1, 2, 3)], [(4, 5, 6)]], [[[1, 2, 3]], [[4, 5, 6]]]),
        (np.zeros((3, 20, 10), np.uint8) + np.array([1, 2, 3], np.uint8)[:, None, None], [[[1, 2, 3]] * 10] * 20),
    ],
    ids=["float", "nan", "bool", "wide", "turned", "lists", "colour lists", "channels first"],
)
def test_other_arrays_become_bytes(run_dir, outputs, array, expected):
    jig.log_image("sample", array)
    assert pixels(outputs / "images" / "sample-1.png").tolist() == np.array(expected).tolist()


def test_a_tensor_is_read_from_where_it_is(run_dir, outputs):
    class Tensor:
        def __init__(self, where):
            self.where = where

        def detach(self):
            return Tensor("device")

        def cpu(self):
            assert self.where == "device"
            return Tensor("here")

        def numpy(self):
            assert self.where == "here"
            return np.full((1, 2), 9, np.uint8)

    jig.log_image("sample", Tensor("graph"))
    assert pixels(outputs / "images" / "sample-1.png").tolist() == [[9, 9]]


@pytest.mark.parametrize("form", ["figure", "axes", "pyplot"])
def test_a_figure_is_logged_as_it_is_drawn(run_dir, outputs, form):
    from matplotlib import pyplot

    made = figure()
    value = {"figure": made, "axes": made.axes[0], "pyplot": pyplot}[form]
    if form == "pyplot":
        pyplot.figure(figsize=(2, 1), dpi=50)
        pyplot.plot([1, 2, 3])
    jig.log("curve", value, step=1)
    jig.log(loss=1.0, curve=value)
    pyplot.close("all")
    assert logged(run_dir) == [
        {"step": 1, "values": {"curve": {"image": "outputs/images/curve-1.png"}}},
        {"values": {"loss": 1.0, "curve": {"image": "outputs/images/curve-2.png"}}},
    ]
    assert pixels(outputs / "images" / "curve-2.png").shape == (50, 100, 4)


def test_a_picture_is_logged_as_it_is(run_dir, outputs):
    jig.log("photo", Image.new("RGB", (4, 2), (1, 2, 3)))
    assert pixels(outputs / "images" / "photo-1.png").tolist() == [[[1, 2, 3]] * 4] * 2


def test_a_file_is_copied_unless_it_is_in_outputs_already(run_dir, outputs, tmp_path, monkeypatch):
    monkeypatch.chdir(run_dir / "work")
    Image.new("L", (1, 1), 5).save(outputs / "cm.png")
    Image.new("L", (1, 1), 6).save(tmp_path / "roc.jpg")
    jig.log_image("cm", "outputs/cm.png")
    jig.log_image("roc", tmp_path / "roc.jpg")
    buffer = io.BytesIO()
    Image.new("L", (1, 1), 7).save(buffer, "gif")
    jig.log_image("bytes", buffer.getvalue())
    assert [line["values"] for line in logged(run_dir)] == [
        {"cm": {"image": "outputs/cm.png"}},
        {"roc": {"image": "outputs/images/roc-1.jpg"}},
        {"bytes": {"image": "outputs/images/bytes-1.gif"}},
    ]
    assert (outputs / "images" / "roc-1.jpg").read_bytes() == (tmp_path / "roc.jpg").read_bytes()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.zeros((2, 2, 5)), r"pixels are height x width, .*; found \(2, 2, 5\)"),
        (np.zeros(3), r"pixels are height x width, .*; found \(3,\)"),
        (np.zeros((0, 3)), r"pixels are height x width, .*; found \(0, 3\)"),
        ([[1], [2, 3]], "pixels are rows of equal length, .*"),
        ([], "pixels are rows of equal length, .*"),
        ([[256]], "ValueError: bytes must be in range.*"),
        (3.5, "float is no figure, picture, array of pixels or file"),
        (None, "NoneType is no figure, .*"),
        (b"GIF", "these bytes are no PNG, JPEG, GIF or SVG file"),
        (np.array([["a"]]), ".*"),
    ],
)
def test_what_is_no_image_is_told_once_and_not_raised(run_dir, outputs, value, reason, capsys):
    jig.log_image("it's", value)
    jig.log_image("it's", value)
    assert re.fullmatch('jig: "it\'s" is not kept as an image: ' + reason + "\n", capsys.readouterr().err)
    assert not (run_dir / "metrics.jsonl").exists()


def test_a_file_that_is_not_there_is_told(run_dir, outputs, capsys):
    jig.log_image("roc", "nowhere.png")
    assert capsys.readouterr().err == "jig: IMAGE LOST: 'roc': No such file or directory; the script goes on\n"


def test_a_figure_that_cannot_be_drawn_is_kept_as_text(run_dir, outputs, capsys):
    class Broken:
        def savefig(self, file, format):
            raise RuntimeError("no canvas")

        def __repr__(self):
            return "<broken>"

    jig.log("curve", Broken(), step=2)
    assert logged(run_dir) == [{"step": 2, "values": {"curve": "<broken>"}}]
    assert capsys.readouterr().err == "jig: 'curve' is not kept as an image: RuntimeError: no canvas\n"


def test_a_full_disk_is_told_and_the_script_goes_on(script):
    out = script(
        """
import resource, signal, jig
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
jig.log("n", 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (60, resource.RLIM_INFINITY))
jig.log_image("big", [[n % 251 for n in range(100)] for _ in range(100)])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
jig.log_image("big", [[1]])
print("went on")
"""
    )
    assert out == "went on\n"
    assert script.stderr == "jig: IMAGE LOST: 'big': File too large; the script goes on\n"
    assert script.values()[-1] == {"big": {"image": "outputs/images/big-2.png"}}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("val/roc", "val/roc-1.png"),
        ("../../x", "_/_/x-HASH-1.png"),
        ("a b:é", "a_b__-HASH-1.png"),
        ("", "_-HASH-1.png"),
        (".hidden", "hidden-HASH-1.png"),
        ("n" * 300, "n" * 60 + "-HASH-1.png"),
    ],
)
def test_every_name_is_a_file_of_the_outputs(run_dir, outputs, name, file):
    jig.log_image(name, [[1]])
    (found,) = [path for path in outputs.rglob("*") if path.is_file()]
    assert re.sub("-[0-9a-f]{8}-", "-HASH-", str(found.relative_to(outputs / "images"))) == file
    assert logged(run_dir)[0]["values"][name] == {"image": "outputs/" + str(found.relative_to(outputs))}


def test_names_that_look_alike_as_files_stay_apart(run_dir, outputs):
    for name in ("a:b", "a?b", "a_b"):
        jig.log_image(name, [[1]])
    assert len({line["values"].popitem()[1]["image"] for line in logged(run_dir)}) == 3


def test_processes_of_a_run_do_not_overwrite_each_other(script):
    script(
        """
import os, jig
jig.log_image("x", [[0]])
children = []
for child in range(4):
    pid = os.fork()
    if not pid:
        for number in range(25): jig.log_image("x", [[child, number]])
        os._exit(0)
    children.append(pid)
for pid in children: assert os.waitpid(pid, 0)[1] == 0
"""
    )
    found = [line["x"]["image"] for line in script.values()]
    assert len(set(found)) == 101
    assert all((script.run_dir / "work" / path).stat().st_size > 60 for path in found)
    assert not list(script.outputs.rglob("*.part"))


def test_nothing_is_imported_that_the_script_did_not_import(script):
    out = script(
        "import sys, jig\njig.log_image('x', [[1]])\njig.log('x', object())\n"
        "print([name for name in ('numpy', 'PIL', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    assert out == "[]\n"


def test_outside_a_run_nothing_is_drawn(script):
    code = "import jig\nclass F:\n    def savefig(self, *a, **k): raise SystemExit('drawn')\njig.log('x', F()); jig.log_image('x', F())"
    script(code, JIG_RUN_DIR="")
    assert script.stderr.count("\n") == 1
    assert "not in a run" in script.stderr


def test_ordinary_types_are_looked_at_once(run_dir, outputs, monkeypatch):
    monkeypatch.setattr(values, "_ordinary", set(values._ordinary))
    jig.log("x", np.float32(1))
    monkeypatch.setattr(values, "_rich", lambda *_: pytest.fail("looked again"))
    jig.log("x", np.float32(2))


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_png_of_every_kind(channels, mode):
    data = bytes(range(2 * 3 * channels))
    with Image.open(io.BytesIO(png.encode(2, 3, channels, data))) as image:
        assert (image.mode, image.size, image.tobytes()) == (mode, (2, 3), data)
    with pytest.raises(ValueError, match="are no 2 x 3 pixels"):
        png.encode(2, 3, channels, data + b"x")


def test_png_chunks_are_whole():
    data = png.encode(1, 1, 1, b"\x07")
    at = len(png.SIGNATURE)
    kinds = []
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        kinds.append(kind)
        at += 12 + size
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
