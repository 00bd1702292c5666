"""Promoted artifacts: the link in the project, and the content, which outlives the run."""

import hashlib
import json
import os
import shutil

import pytest

from jig.runner.folder import Home
from tests.conftest import spawn
from tests.mounts import fill

SCRIPT = """
import os
os.makedirs("outputs/net/deep")
with open("outputs/model.pkl", "wb") as file:
    file.write(b"model" * 1000)
with open("outputs/net/deep/w.bin", "wb") as file:
    file.write(bytes(range(256)))
open("outputs/net/empty", "w").close()
os.symlink("/etc/passwd", "outputs/net/secret")
os.symlink("/etc", "outputs/etc")
os.mkfifo("outputs/net/pipe")
print("done")
"""
MODEL = b"model" * 1000


@pytest.fixture
def run_id(project, cli):
    project.write("a.py", SCRIPT)
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0, said.err
    return said.run_id


def promote(cli, run_id, path, name, *more):
    said = cli("history", "promote", "-r", run_id, "-ap", path, "-n", name, *more)
    assert said.code == 0, said.err
    return said


def link_of(project, name):
    return json.loads((project.path / f"assets/{name}.link").read_text())


def test_a_file_outlives_its_run(project, cli, run_id, tmp_path):
    said = promote(cli, run_id, "outputs/model.pkl", "best_model")
    assert said.out == f"assets/best_model.link: version 1, outputs/model.pkl of {run_id}, 5.0 kB\n"
    link = link_of(project, "best_model")
    assert {key: link[key] for key in ("asset", "project", "version", "run_id", "artifact_path", "kind")} == {
        "asset": "best_model",
        "project": "proj",
        "version": 1,
        "run_id": run_id,
        "artifact_path": "outputs/model.pkl",
        "kind": "file",
    }
    assert (link["size"], link["files"], link["earlier"]) == (5000, 1, [])
    assert link["sha256"] == hashlib.sha256(MODEL).hexdigest()
    assert cli("history", "delete", run_id).code == 0
    assert cli("experiment", "clean").code == 0
    for words in (
        ("-l", "assets/best_model.link", "-d"),
        ("-l", "assets/best_model.link", "--output-directory"),
        ("best_model", "-d"),
    ):
        folder = tmp_path / f"got{len(os.listdir(tmp_path))}"
        said = cli("asset", "download", *words, str(folder))
        assert (said.code, said.out) == (0, f"{folder}/model.pkl\n"), said.err
        assert (folder / "model.pkl").read_bytes() == MODEL


def test_a_folder(project, cli, run_id, tmp_path):
    """Links and pipes stay where they are; `net` is found below outputs/."""
    said = promote(cli, run_id, "net/", "net", "-o", "json")
    assert {key: said.json()[key] for key in ("artifact_path", "kind", "size", "files")} == {
        "artifact_path": "outputs/net",
        "kind": "folder",
        "size": 256,
        "files": 2,
    }
    assert cli("history", "delete", run_id).code == 0
    said = cli("asset", "download", "net", "-d", str(tmp_path / "got"), "-o", "json")
    assert said.json() == [f"{tmp_path}/got/net/deep/w.bin", f"{tmp_path}/got/net/empty"]
    assert (tmp_path / "got/net/deep/w.bin").read_bytes() == bytes(range(256))


def test_versions(project, cli, run_id, tmp_path):
    promote(cli, run_id, "outputs/model.pkl", "m")
    promote(cli, run_id, "outputs/net/deep/w.bin", "m")
    link = link_of(project, "m")
    assert (link["version"], link["artifact_path"]) == (2, "outputs/net/deep/w.bin")
    assert [(one["version"], one["artifact_path"]) for one in link["earlier"]] == [(1, "outputs/model.pkl")]
    assert cli("history", "delete", run_id).code == 0
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got"), "--version", "1").code == 0
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got")).code == 0
    assert sorted(os.listdir(tmp_path / "got")) == ["model.pkl", "w.bin"]
    said = cli("asset", "download", "m", "--version", "3")
    assert said.code == 2 and "has no version '3'" in said.err and "it has 2, 1" in said.err
    rows = cli("asset", "list", "--all").json()
    assert [(row["asset"], row["version"], row["here"]) for row in rows] == [("m", 2, True), ("m", 1, True)]
    assert cli("asset", "delete", "m").out == "deleted m: 2 versions\n"
    assert cli("asset", "list").json() == []
    assert [name for name in os.listdir(Home(os.environ["JIG_HOME"]).assets) if name.endswith(".json")] == []


def test_what_is_no_artifact(project, cli, run_id):
    for path in (
        "../plan.json",
        "outputs/../../plan.json",
        "/etc/passwd",
        "outputs/net/secret",
        "outputs/etc",
        "etc/passwd",
        "outputs/none",
        "",
        "a.py",
    ):
        said = cli("history", "promote", "-r", run_id, "-ap", path, "-n", "x")
        assert said.code == 125, path
        assert f"the run {run_id} has no artifact {path!r}" in said.err
        assert "it has driver_log, " in said.err
    assert not (project.path / "assets").exists()


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/tmp/x", ".hidden", "-n", "a\nb", "a\x1b[31m", "", "a b", "x" * 201, "a=b"]
)
def test_names_stay_inside(project, cli, run_id, name):
    said = cli("history", "promote", "-r", run_id, "-ap", "model.pkl", f"--name={name}")
    assert said.code == 2 and "cannot be the name of an asset" in said.err and "\x1b" not in said.err
    assert sorted(os.listdir(project.path)) == ["a.py", "aml_config"]


def test_a_folder_of_assets_that_leads_elsewhere(project, cli, run_id, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (project.path / "assets").symlink_to(tmp_path / "elsewhere")
    said = cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "x")
    assert said.code == 125 and "leads out of the project" in said.err
    assert os.listdir(tmp_path / "elsewhere") == []
    os.unlink(project.path / "assets")
    (project.path / "assets").write_text("a file")
    said = cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "x")
    assert said.code == 125 and "is not a folder" in said.err


BAD_LINKS = [
    {"sha256": "../../../../etc/passwd"},
    {"artifact_path": "outputs/../../x"},
    {"artifact_path": "/etc/passwd"},
    {"run_id": "../x"},
    {"kind": "other"},
    {"version": "1"},
    {"size": None},
    {"earlier": [{"version": 1}]},
    {"asset": "../x"},
]


@pytest.mark.parametrize("change", BAD_LINKS, ids=str)
def test_links_that_others_wrote(project, cli, run_id, tmp_path, change):
    promote(cli, run_id, "model.pkl", "m")
    path = project.path / "assets/m.link"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    said = cli("asset", "download", "m", "-d", str(tmp_path / "got"))
    assert said.code == 125 and "is not an asset link that jig wrote" in said.err
    assert not (tmp_path / "got").exists()
    said = cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "m")
    assert said.code == 125, "what cannot be read is not replaced either"
    said = cli("asset", "list")
    assert said.json() == [] and "is not an asset link" in said.err


def test_links_that_are_none(project, cli, tmp_path):
    (project.path / "assets").mkdir()
    for name, data in (("a", b"\xff"), ("b", b"[" * 100_000), ("c", b"")):
        (project.path / f"assets/{name}.link").write_bytes(data)
        assert "is not an asset link" in cli("asset", "download", name).err
    said = cli("asset", "download", "none")
    assert said.code == 125 and "there is no asset link" in said.err
    assert "no asset was named" in cli("asset", "download").err


def test_files_that_are_there(project, cli, run_id, tmp_path):
    promote(cli, run_id, "model.pkl", "m")
    (tmp_path / "model.pkl").write_text("mine")
    (tmp_path / "precious").write_text("precious")
    said = cli("asset", "download", "m", "-d", str(tmp_path))
    assert said.code == 125 and said.err == f"error: {tmp_path}/model.pkl exists\n\nhint: --overwrite replaces files\n"
    os.unlink(tmp_path / "model.pkl")
    (tmp_path / "model.pkl").symlink_to(tmp_path / "precious")
    assert cli("asset", "download", "m", "-d", str(tmp_path), "--overwrite").code == 0
    assert (tmp_path / "model.pkl").read_bytes() == MODEL and not (tmp_path / "model.pkl").is_symlink()
    assert (tmp_path / "precious").read_text() == "precious", "a link that stands there is replaced, not followed"
    os.unlink(tmp_path / "model.pkl")
    (tmp_path / "model.pkl").mkdir()
    assert "is a folder" in cli("asset", "download", "m", "-d", str(tmp_path), "--overwrite").err


def blob(jig_home, digest):
    return jig_home / "blobs" / digest[:2] / digest[2:]


def test_a_damaged_blob_is_fetched_from_the_run(project, cli, run_id, jig_home, tmp_path):
    promote(cli, run_id, "model.pkl", "m")
    digest = link_of(project, "m")["sha256"]
    blob(jig_home, digest).write_bytes(b"other" * 1000)
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/model.pkl").read_bytes() == MODEL
    blob(jig_home, digest).write_bytes(b"other" * 1000)
    (jig_home / "runs" / run_id / "work/outputs/model.pkl").write_text("changed")
    said = cli("asset", "download", "m", "-d", str(tmp_path / "again"))
    assert said.code == 125 and "outputs/model.pkl of the run is not what it was" in said.err
    assert not (tmp_path / "again").exists() or os.listdir(tmp_path / "again") == []


def test_another_computer_without_the_run(project, cli, run_id, tmp_path, monkeypatch):
    promote(cli, run_id, "model.pkl", "m")
    monkeypatch.setenv("JIG_HOME", str(tmp_path / "other"))
    said = cli("asset", "download", "m", "-d", str(tmp_path / "got"))
    assert said.code == 125
    assert said.err == (
        f"error: the content of m, version 1, is not on this computer, and cannot be fetched from the run {run_id} on "
        "local: this computer has no record of it, and the project names no machine that would\n\n"
        "hint: download it on the computer where it was promoted, or promote it again from a run that is here\n"
    )
    assert [row["here"] for row in cli("asset", "list").json()] == [False]


def test_a_list_of_kept_files_that_cannot_be_read_keeps_all(project, cli, run_id, jig_home, tmp_path):
    promote(cli, run_id, "model.pkl", "m")
    (record,) = (jig_home / "assets").glob("*.json")
    whole = record.read_text()
    record.write_text(whole[:-20])
    said = cli("history", "delete", run_id)
    assert said.code == 125 and "nothing was removed" in said.err and str(record) in said.err
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got")).code == 0
    record.write_text(whole)
    assert cli("experiment", "clean").code == 0
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got2")).code == 0


def test_many_promotions_at_the_same_time(project, cli, run_id):
    words = ("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "m")
    both = [spawn(*words) for _ in range(6)]
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0] * 6, said
    link = link_of(project, "m")
    assert [link["version"], *(one["version"] for one in link["earlier"])] == [6, 5, 4, 3, 2, 1]


def test_promoting_beside_a_collector(project, cli, run_id, tmp_path):
    """Blobs are removed while others are kept: whoever finds a link finds its content."""
    cleaning = [spawn("experiment", "clean") for _ in range(3)]
    for number in range(5):
        promote(cli, run_id, "outputs/net", f"m{number}")
    for process in cleaning:
        process.communicate(timeout=60)
    assert cli("history", "delete", run_id).code == 0
    assert [row["here"] for row in cli("asset", "list").json()] == [True] * 5


def test_a_full_disk_promotes_nothing(project, cli, small_disk, monkeypatch, tmp_path):
    folder = small_disk("24m")
    monkeypatch.setenv("JIG_HOME", str(folder / "jig"))
    project.write("a.py", "open('outputs/m', 'wb').write(b'm' * 4_000_000)")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    rest = fill(folder)
    with open(rest, "r+b") as file:
        file.truncate(max(0, rest.stat().st_size - 2_000_000))  # room for half of it
    said = cli("history", "promote", "-r", run_id, "-ap", "m", "-n", "m")
    assert said.code == 125 and "No space left on device" in said.err
    assert not (project.path / "assets/m.link").exists()
    assert [name for name in os.listdir(folder / "jig/blobs") if name.startswith(".new-")] == []
    rest.unlink()
    promote(cli, run_id, "m", "m")
    small = tmp_path / "got"
    assert cli("asset", "download", "m", "-d", str(small)).code == 0
    assert (small / "m").stat().st_size == 4_000_000


def test_downloading_onto_a_full_disk(project, cli, run_id, small_disk):
    promote(cli, run_id, "model.pkl", "m")
    folder = small_disk("256k")
    (folder / "model.pkl").write_text("before")
    fill(folder)
    said = cli("asset", "download", "m", "-d", str(folder), "--overwrite")
    assert said.code == 125 and "No space left on device" in said.err
    assert (folder / "model.pkl").read_text() == "before"
    assert sorted(os.listdir(folder)) == ["model.pkl", "rest"]


def test_shared_by_git(project, cli, run_id, tmp_path, monkeypatch):
    """A clone on the same computer finds the content by what it is."""
    promote(cli, run_id, "outputs/net", "net")
    clone = tmp_path / "clone"
    shutil.copytree(project.path, clone)
    monkeypatch.chdir(clone)
    assert cli("asset", "download", "net", "-d", "out").code == 0
    assert (clone / "out/net/deep/w.bin").read_bytes() == bytes(range(256))
    assert cli("asset", "delete", "-n", "net").code == 0, "what another clone keeps stays"
    monkeypatch.chdir(project.path)
    assert cli("history", "delete", run_id).code == 0
    assert cli("asset", "download", "net", "-d", str(tmp_path / "again")).code == 0


def test_outside_a_project(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("history", "promote", "-ap", "x", "-n", "x").code == 2
    assert cli("asset", "list").code == 2


def test_logs_are_artifacts_too(project, cli, run_id, tmp_path):
    promote(cli, run_id, "driver_log", "log")
    assert cli("asset", "download", "log", "-d", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/driver_log").read_text() == "done\n"


def test_what_a_nested_run_left(project, cli, jig_home, tmp_path):
    nested = '{"time": 1.0, "run": "1", "name": "fold", "status": "FINISHED", "parent": ""}\\n'
    project.write(
        "a.py",
        "import os\nos.makedirs('outputs/nested/1')\nopen('outputs/nested/1/m', 'w').write('inner')\n"
        "open('outputs/m', 'w').write('outer')\n"
        f"open(os.environ['JIG_RUN_DIR'] + '/metrics.jsonl', 'a').write('{nested}')\n",
    )
    run_id = cli("submit", "-c", "local", "a.py").run_id
    promote(cli, f"{run_id}-1", "outputs/m", "inner")
    assert (link_of(project, "inner")["run_id"], link_of(project, "inner")["artifact_path"]) == (
        run_id,
        "outputs/nested/1/m",
    )
    assert cli("asset", "download", "inner", "-d", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/m").read_text() == "inner"


def test_two_branches_have_a_version_of_their_own(project, cli, run_id, tmp_path):
    """Both contents stay: either link may come back with git."""
    promote(cli, run_id, "outputs/model.pkl", "best")
    here = (project.path / "assets/best.link").read_text()
    (project.path / "assets/best.link").unlink()
    promote(cli, run_id, "outputs/net/deep/w.bin", "best")
    assert cli("history", "delete", "-r", run_id).code == 0
    (project.path / "assets/best.link").write_text(here)
    assert cli("asset", "download", "-l", "assets/best.link", "-d", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/model.pkl").read_bytes() == MODEL


def test_an_artifact_that_no_link_can_name(project, cli):
    project.write("a.py", "open('outputs/a\\\\b', 'w').close()")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    said = cli("history", "promote", "-r", run_id, "-ap", "outputs/a\\b", "-n", "m")
    assert said.code == 125 and "cannot be an asset: its path has a backslash" in said.err
    assert not (project.path / "assets").exists()


def test_a_folder_of_the_same_name_is_not_meant(project, cli, run_id, tmp_path):
    promote(cli, run_id, "outputs/model.pkl", "net")
    (project.path / "net").mkdir()
    assert cli("asset", "download", "net", "-d", str(tmp_path)).code == 0
    assert (tmp_path / "model.pkl").read_bytes() == MODEL
