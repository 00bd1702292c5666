"""`jig.upload`: content becomes a file in the outputs folder, and nowhere else."""

import os
import re
from pathlib import PurePath

import pytest

import jig


@pytest.fixture
def outputs(run_dir):
    folder = run_dir / "work" / "outputs"
    folder.mkdir(parents=True)
    return folder


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("a.txt", "a.txt"),
        ("artifact/path", "artifact/path"),
        ("outputs/a.txt", "a.txt"),
        ("./outputs//a.txt", "a.txt"),
        ("outputs/outputs/a.txt", "outputs/a.txt"),
        ("outputs.txt", "outputs.txt"),
        ("deep/../a.txt", "a.txt"),
        (PurePath("deep/a.txt"), "deep/a.txt"),
        ("-rf", "-rf"),
        ('with space/it\'s "new\nline" ü.txt', 'with space/it\'s "new\nline" ü.txt'),
        ("x" * 255, "x" * 255),
    ],
)
def test_where_the_file_is(outputs, path, file):
    jig.upload(path, "content")
    assert tree(outputs) == {file: b"content"}


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ("ü\r\n\n", "ü\r\n\n".encode()),
        ("", b""),
        ("lone \ud800", b"lone \\ud800"),
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
    ],
)
def test_content_is_kept_byte_for_byte(outputs, content, data):
    jig.upload("file", content)
    assert tree(outputs) == {"file": data}


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "../x", "outputs/../../x", "a/../../x", "../outputs/x"])
def test_a_path_that_leads_out_is_an_error(outputs, path):
    with pytest.raises(ValueError, match="leads out of it") as error:
        jig.upload(path, "content")
    assert repr(path) in str(error.value)
    assert tree(outputs.parent.parent) == {}


@pytest.mark.parametrize("path", ["", ".", "outputs", "outputs/", "folder/", "a/.."])
def test_a_path_without_a_file_name_is_an_error(outputs, path):
    with pytest.raises(ValueError, match=re.escape(f"{path!r} names a folder")):
        jig.upload(path, "content")
    assert tree(outputs) == {}


@pytest.mark.parametrize("path", ["a\ud800b", "folder\ud800/a", "a\0b"])
def test_a_name_that_no_file_can_have_is_an_error_and_leaves_nothing(outputs, path):
    with pytest.raises(ValueError, match=re.escape(f"no file can have the name {path!r}")):
        jig.upload(path, "content")
    assert tree(outputs) == {}


def test_content_that_is_no_text_and_no_bytes_is_an_error(outputs):
    with pytest.raises(TypeError, match="the content of 'a' must be text or bytes; found list"):
        jig.upload("a", ["content"])
    assert tree(outputs) == {}


def test_an_older_file_is_replaced_whole(outputs):
    jig.upload("a", "first and long")
    with open(outputs / "a", "rb") as reader:
        jig.upload("a", "second")
        assert reader.read() == b"first and long"
    assert tree(outputs) == {"a": b"second"}


def test_mode_follows_the_umask(outputs):
    before = os.umask(0o027)
    try:
        jig.upload("a", "content")
    finally:
        os.umask(before)
    assert (outputs / "a").stat().st_mode & 0o777 == 0o640


def test_a_folder_in_the_way_is_told_and_not_raised(outputs, capsys):
    (outputs / "a").mkdir()
    jig.upload("a", "content")
    assert capsys.readouterr().err == "jig: ARTIFACT LOST: a: Is a directory; the script goes on\n"
    assert tree(outputs) == {}


def test_a_full_disk_leaves_no_half_file(script):
    code = """
import resource, signal, jig
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
jig.upload("big", "x" * 5000)
jig.upload("small", "x")
print("went on")
"""
    assert script(code) == "went on\n"
    assert script.stderr == "jig: ARTIFACT LOST: big: File too large; the script goes on\n"
    assert tree(script.outputs) == {"small": b"x"}


def test_the_working_directory_does_not_matter(outputs, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    jig.upload("a", "content")
    assert tree(outputs) == {"a": b"content"}


def test_threads_that_upload_the_same_name_leave_one_whole_file(script):
    script(
        """
import threading, jig
def work(letter):
    for _ in range(50): jig.upload("same", letter * 100000)
threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcd"]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    )
    assert script.stderr == ""
    (name, data), *others = tree(script.outputs).items()
    assert (name, others) == ("same", [])
    assert data in [letter * 100000 for letter in (b"a", b"b", b"c", b"d")]
