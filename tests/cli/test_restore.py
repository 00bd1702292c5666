"""`jig project restore`: the folder as it was, and nothing lost on the way."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jig.runner import manifest
from jig.runner.blobs import BlobStore
from tests.conftest import environ


def tree(folder: Path) -> dict:
    """Every file's mode and bytes, every link's target, by path; without .git."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == ".git":
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        elif not any(path.iterdir()):
            found[name] = "folder"
    return found


@pytest.fixture
def then(project, cli):
    """A run, and the tree as it was."""
    project.write("train.py", "print(1)\n").chmod(0o755)
    project.write("lib/part.py", "PART = 1\n")
    project.write(".amlignore", "data/\n*.tmp\n")
    project.write("data/large.bin", "data")
    (project.path / "link").symlink_to("lib/part.py")
    (project.path / "hollow").mkdir()
    run = cli("submit", "-c", "local", "train.py").run_id
    return run, tree(project.path)


def committed(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)


def edited(project) -> dict:
    """Change one of each kind."""
    project.write("train.py", "print(2)\n").chmod(0o600)
    project.write("new/deep/file.py", "NEW = 1\n")
    shutil.rmtree(project.path / "lib")
    project.write("lib", "a file where a folder was\n")
    (project.path / "link").unlink()
    project.write("link", "a file where a link was\n")
    (project.path / "hollow").rmdir()
    project.write("data/more.bin", "untouched")
    project.write("outputs/model", "untouched")
    project.write("x.tmp", "untouched")
    return tree(project.path)


def test_kept_in_git(project, cli, then):
    run, was = then
    now = edited(project)
    committed(project.path)
    said = cli("project", "restore", "--run-id", run)
    assert said.code == 0, said.err
    own = {name: now[name] for name in ("data/more.bin", "outputs/model", "x.tmp")}
    assert tree(project.path) == {**was, **own}
    assert said.out == (
        "deleted   lib\n"
        "deleted   new/deep/file.py\n"
        "restored  hollow\n"
        "restored  lib/part.py\n"
        "restored  link\n"
        "restored  train.py\n"
        f"{project.path} is as {run} had it: 6 changed, 3 were so already\n"
    )
    assert not (project.path / "new").exists() and (project.path / ".git").is_dir()
    again = cli("project", "restore", "--run-id", run)
    assert again.out == f"{project.path} is as {run} had it: 0 changed, 6 were so already\n"


def test_unkept_work_is_refused_by_name(project, cli, then):
    run, _ = then
    now = edited(project)
    said = cli("project", "restore", "--run-id", run)
    assert (said.code, said.out) == (125, "")
    assert said.err == (
        "error: this would overwrite or delete work that is neither committed nor part of a run:\n"
        "  lib\n  link\n  new/deep/file.py\n  train.py\n"
        "\nhint: commit it, or say --force: then the folder is kept first, and can be had back\n"
    )
    assert tree(project.path) == now


def test_one_unkept_file_among_committed_ones(project, cli, then):
    run, _ = then
    edited(project)
    committed(project.path)
    project.write("train.py", "print('not yet committed')\n")
    now = tree(project.path)
    said = cli("project", "restore", "--run-id", run)
    assert said.code == 125 and "\n  train.py\n\n" in said.err and "lib" not in said.err
    assert tree(project.path) == now


def test_kept_in_another_run(project, cli, then):
    run, was = then
    project.write("train.py", "print(2)\n")
    project.write("more.py", "x\n")
    later = cli("submit", "-c", "local", "train.py").run_id
    (project.path / "more.py").rename(project.path / "renamed.py")
    assert cli("project", "restore", run).code == 0
    assert tree(project.path) == was
    assert cli("project", "restore", later).code == 0
    assert (project.path / "more.py").read_text() == "x\n"


def test_forced_and_back(project, cli, then, jig_home):
    run, was = then
    now = edited(project)
    said = cli("project", "restore", "-r", run, "--force", "-o", "json")
    told = said.json()
    assert (told["run_id"], told["folder"], told["unchanged"]) == (run, str(project.path), 3)
    assert told["deleted"] == ["lib", "new/deep/file.py"]
    back = told["back"]
    assert f"to have it back:  jig project restore --run-id {back}\n" in said.err
    own = {name: now[name] for name in ("data/more.bin", "outputs/model", "x.tmp")}
    assert tree(project.path) == {**was, **own}
    assert cli("experiment", "clean").code == 0, "what is kept outlives cleaning"
    assert cli("project", "restore", "-r", back).code == 0
    assert tree(project.path) == now


def test_an_ignored_file_that_the_run_had(project, cli, then):
    """It is part of the run, and of no snapshot any more: it counts as work."""
    run, _ = then
    project.write(".amlignore", "data/\n*.tmp\nlib/\n")
    committed(project.path)
    project.write("lib/part.py", "PART = 2\n")
    said = cli("project", "restore", run)
    assert said.code == 125 and "\n  lib/part.py\n\n" in said.err
    said = cli("project", "restore", run, "--force", "-o", "json")
    assert (project.path / "lib/part.py").read_text() == "PART = 1\n"
    assert cli("project", "restore", said.json()["back"]).code == 0
    assert (project.path / "lib/part.py").read_text() == "PART = 2\n"


def test_a_file_that_the_run_ignored_stays(project, cli, then):
    run, _ = then
    project.write(".amlignore", "# nothing is left out\n")
    project.write("x.tmp", "mine")
    committed(project.path)
    assert cli("project", "restore", run).code == 0
    assert (project.path / "x.tmp").read_text() == "mine" and (project.path / "data/large.bin").exists()


def test_into_a_new_folder(project, cli, then, tmp_path):
    run, was = then
    edited(project)
    said = cli("project", "restore", run, "--path", str(tmp_path / "then"))
    assert said.code == 0 and "kept" not in said.err
    assert tree(tmp_path / "then") == {name: what for name, what in was.items() if not name.startswith("data/")}


def test_another_project_is_not_overwritten(project, cli, then, tmp_path, monkeypatch):
    run, _ = then
    (tmp_path / "other/aml_config").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    said = cli("project", "restore", run)
    assert said.code == 2 and f"the run {run} belongs to the project proj" in said.err
    assert cli("project", "restore").code == 2


def test_a_missing_blob_is_found_before_anything_is_touched(project, cli, then, jig_home):
    run, _ = then
    edited(project)
    committed(project.path)
    now = tree(project.path)
    store = BlobStore(str(jig_home / "blobs"))
    os.unlink(store.place(store.put(b"PART = 1\n")))
    said = cli("project", "restore", run)
    assert said.code == 125 and "is not whole any more: lib/part.py cannot be found" in said.err
    assert tree(project.path) == now


def test_a_damaged_blob_is_found_before_anything_is_touched(project, cli, then, jig_home):
    run, _ = then
    edited(project)
    committed(project.path)
    now = tree(project.path)
    store = BlobStore(str(jig_home / "blobs"))
    Path(store.place(store.put(b"PART = 1\n"))).write_text("PART = 9\n")
    said = cli("project", "restore", run)
    assert said.code == 125 and "lib/part.py cannot be found" in said.err
    assert tree(project.path) == now


def hostile(jig_home: Path, run: str, entries: list) -> None:
    """Have the run's plan name another list of files, as a machine that is not to be trusted might."""
    store = BlobStore(str(jig_home / "blobs"))
    for entry in entries:
        if entry[0] == "f":
            entry.append(store.put(b"owned\n"))
    place = jig_home / "runs" / run / "plan.json"
    plan = json.loads(place.read_text())
    plan["snapshot"]["id"] = store.put(manifest.encode(entries))
    place.write_text(json.dumps(plan))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (["f", "../outside", 0o644, 6], "leaves its folder"),
        (["f", "/etc/outside", 0o644, 6], "leaves its folder"),
        (["f", ".git/hooks/post-checkout", 0o755, 6], "never part of a run"),
        (["f", "sub/.GIT/config", 0o644, 6], "never part of a run"),
        (["f", "outputs/model", 0o644, 6], "never part of a run"),
        (["l", "link", "/etc/passwd"], "a link that leaves the folder"),
        (["l", "sub/link", "../../up"], "a link that leaves the folder"),
    ],
)
def test_tricks_with_paths(project, cli, then, jig_home, entry, said):
    run, _ = then
    committed(project.path)
    now = tree(project.path)
    hostile(jig_home, run, [entry])
    done = cli("project", "restore", run)
    assert done.code == 125 and said in done.err, done.err
    assert tree(project.path) == now


def test_a_list_that_goes_through_its_own_links(project, cli, then, jig_home):
    """Each link stays inside by its words; together they would lead out."""
    run, _ = then
    committed(project.path)
    now = tree(project.path)
    links = [["l", "x/y/z", "../.."], ["l", "x/y/z/w", "../../.."]]
    hostile(jig_home, run, [*links, ["f", "w/.bashrc", 0o644, 6]])
    done = cli("project", "restore", run)
    assert done.code == 125 and "'x/y/z/w' below something that is no folder" in done.err, done.err
    assert tree(project.path) == now


def test_a_folder_of_ignored_files_where_a_file_was(project, cli, then):
    """Found before anything is touched."""
    run, _ = then
    (project.path / "train.py").unlink()
    (project.path / "train.py").mkdir()
    project.write("train.py/big.tmp", "not to be lost")
    committed(project.path)
    now = tree(project.path)
    done = cli("project", "restore", run)
    assert done.code == 125, done.out
    assert tree(project.path) == now


def test_a_link_in_the_way_does_not_lead_out(project, cli, then, tmp_path):
    """What would be written through a link of the folder lands nowhere else."""
    run, _ = then
    shutil.rmtree(project.path / "lib")
    (project.path / "link").unlink()
    (tmp_path / "elsewhere").mkdir()
    (project.path / "lib").symlink_to(tmp_path / "elsewhere")
    project.write(".amlignore", "lib\ndata\n*.tmp\n")  # else the link alone is a mistake
    committed(project.path)
    said = cli("project", "restore", run)
    assert said.code == 125 and "lib is in the way of the folder of lib/part.py" in said.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


KILLED = """
import os, signal, sys
import jig.cli
from jig import restore
put, left = restore._put, [int(sys.argv[1])]
def once_less(aside, place):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    put(aside, place)
restore._put = once_less
jig.cli.main(sys.argv[2:])
"""


def test_killed_in_the_middle(project, cli, then, jig_home):
    """Each file is old or new, never torn; the same command goes on; and the first state can be had back."""
    many = [f"many/{number:02}.txt" for number in range(30)]
    for name in many:
        project.write(name, f"{name}\n")
    full = cli("submit", "-c", "local", "train.py").run_id
    complete = tree(project.path)
    for name in many:
        project.write(name, "changed\n")
    changed = tree(project.path)
    for left in (0, 1, 15):
        words = ["project", "restore", full, "--force"]
        process = subprocess.run(
            [sys.executable, "-c", KILLED, str(left), *words], env=environ(), capture_output=True, timeout=60
        )
        assert process.returncode == -signal.SIGKILL and b"to have it back:" in process.stderr
        found = {name: what for name, what in tree(project.path).items() if not name.startswith(".jig-restore")}
        assert found.keys() == complete.keys()
        assert all(found[name] in (complete[name], changed[name]) for name in found), "no file is torn"
    assert sum(found[name] == complete[name] for name in many) == 16
    assert cli("project", "restore", full, "--force").code == 0
    assert tree(project.path) == complete, "and nothing is left of the killed ones"
    first = sorted(os.listdir(jig_home / "kept"))[0]
    assert cli("project", "restore", first).code == 0
    assert tree(project.path) == changed


def test_a_file_edited_this_moment_is_not_overwritten(project, cli, then, monkeypatch):
    from jig import restore

    run, _ = then
    edited(project)
    committed(project.path)
    stage = restore._stage

    def meanwhile(*given):
        staged = stage(*given)
        project.write("train.py", "just saved\n")
        return staged

    monkeypatch.setattr(restore, "_stage", meanwhile)
    said = cli("project", "restore", run)
    assert said.code == 125 and "train.py was changed this moment: nothing is restored" in said.err
    assert (project.path / "train.py").read_text() == "just saved\n"
    assert (project.path / "lib").is_file() and not (project.path / ".jig-restore").exists()


def test_two_at_a_time(project, cli, then, jig_home):
    from jig.digest import name_of
    from jig.system import lock

    run, _ = then
    held = os.open(jig_home / f"restore-{name_of(os.fsencode(str(project.path)), 6)}.lock", os.O_RDWR | os.O_CREAT)
    lock(held)
    said = cli("project", "restore", run)
    os.close(held)
    assert said.code == 125 and f"another restore works on {project.path}" in said.err
