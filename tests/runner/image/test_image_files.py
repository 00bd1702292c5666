"""Files of the machine that a build in a container needs: they are there under other names, or copied in."""

from pathlib import Path

import pytest

from jig.runner.blobs import BlobStore
from jig.runner.image_places import Places
from jig.runner.image_words import mount
from tests.conftest import until
from tests.runner.image.machine import ImageMachine, wanted
from tests.runner.wheels import make_wheel

LEFT = "/azureml-envs:\n{}\n\n/jig:\n"
COPIED = "the Docker engine does not see this machine's folders: what the build needs is copied"


def left(machine: ImageMachine, image_id: str) -> str:
    """What is where files of this machine were during the build, with the environment's name as `ID`."""
    (tag,) = machine.engine.docker("images", "jig-env", "--format", "{{.Tag}}").split()
    words = ("run", "--rm", "--network", "none", image_id, "ls", "-A", "/jig", "/azureml-envs")
    return machine.engine.docker(*words).replace(tag, "ID")


def hidden(machine: ImageMachine) -> "tuple[str, ...]":
    """Words before a command that gives it a jig home of its own, which the engine does not see."""
    kept = 'cp -a "$0/." "$1"; mount -t tmpfs none "$0"; cp -a "$1/." "$0"; shift; exec "$@"'
    aside = machine.root / "aside"
    aside.mkdir()
    return ("unshare", "--mount", "--propagation=private", "sh", "-c", kept, str(machine.home), str(aside))


def run(machine: ImageMachine, image_id: str, *argv: str) -> str:
    return machine.engine.docker("run", "--rm", "--network", "none", image_id, *argv)


def test_an_engine_that_does_not_see_the_folders(machine: ImageMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = machine.root / "constraint.txt"
    constraint.write_text("alpha<2\n")
    make_wheel(machine.wheels, "alpha", "2.0")
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraint))
    out = machine.start(wanted("alpha"), hidden(machine)).communicate(timeout=60)[0].splitlines()
    assert out[:3] == ["making an environment", "resolving", "installing 1 package"]
    (tag,) = machine.engine.docker("images", "jig-env", "--format", "{{.Tag}}").split()
    assert run(machine, out[-1], f"/azureml-envs/{tag}/bin/alpha") == "1.0\n"
    assert left(machine, out[-1]) == LEFT.format("ID")
    until(lambda: machine.containers() == [])


def test_an_engine_that_sees_the_folders_no_more(machine: ImageMachine) -> None:
    machine.ensure(wanted(fingerprint="cd34"))  # what is known of the engine is kept
    machine.engine.docker("rmi", *machine.images())
    out = machine.start(wanted("alpha"), hidden(machine)).communicate(timeout=60)[0].splitlines()
    assert out[:2] == ["making an environment", COPIED]
    assert left(machine, out[-1]) == LEFT.format("ID")
    until(lambda: machine.containers() == [])


def test_an_index_in_a_folder(machine: ImageMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pages link to files in a folder beside it."""
    root = machine.root / "an index, of ours"
    make_wheel(root / "files", "beta", "1.0")
    page = root / "simple/beta/index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="../../files/beta-1.0-py3-none-any.whl">beta-1.0-py3-none-any.whl</a>')
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", (root / "simple").as_uri())
    made = machine.ensure(wanted("alpha", "beta"))
    assert machine.python(made, "import alpha, beta; print(alpha.VERSION, beta.VERSION)") == "1.0 1.0\n"


def test_files_of_the_project_and_files_that_were_brought(machine: ImageMachine) -> None:
    store = BlobStore(str(machine.home / "blobs"))
    own = make_wheel(machine.root / "own", "own", "3.0", requires=("brought",))
    other = make_wheel(machine.root / "other", "brought", "4.0")
    digest = store.put(own.read_bytes())
    request = wanted(f"own @ {{files}}/{digest}/{own.name}", files=[digest])
    request["brought"] = [[other.name, store.put(other.read_bytes())]]
    made = machine.ensure(request)
    assert machine.python(made, "import own, brought; print(own.VERSION, brought.VERSION)") == "3.0 4.0\n"


def test_settings_of_uv(machine: ImageMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(machine.root / "more", "gamma", "1.0")
    settings = tmp_path / "settings/uv/uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[pip]\nfind-links = ["{machine.root / "more"}"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.delenv("PIP_FIND_LINKS")
    made = machine.ensure(wanted("gamma"))
    assert machine.python(made, "import gamma; print(gamma.VERSION)") == "1.0\n"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("/home/ada/wheels", "/jig/0/wheels"),
        ("file:///home/ada/wheels/a.whl", "file:///jig/0/wheels/a.whl"),
        ("--find-links file:///home/ada/my%20own", "--find-links file:///jig/1/my%20own"),
        ("/home/ada/wheels2 /mnt/home/ada/wheels", "/home/ada/wheels2 /mnt/home/ada/wheels"),
        ("a @ file:///home/ada/wheels/a.whl#sha256=0", "a @ file:///jig/0/wheels/a.whl#sha256=0"),
        ("/home/ada/my own,/home/ada/wheels", "/jig/1/my own,/jig/0/wheels"),
        ("https://x.example/home/ada/wheels", "https://x.example/home/ada/wheels"),
    ],
)
def test_how_files_are_called(text: str, seen: str) -> None:
    places = Places()
    places.add("/home/ada/wheels")
    places.add("/home/ada/my own/")
    assert places.seen(text) == seen


def test_a_file_within_a_folder_that_is_there(tmp_path: Path) -> None:
    places = Places()
    (tmp_path / "list.txt").write_text("")
    places.add_named([f"{tmp_path}", f"{tmp_path}/list.txt", "/", "/nowhere/at/all", "https://x.example/simple"])
    assert list(places.inside) == [str(tmp_path)]
    assert places.mounts() == ["--tmpfs", "/jig", "--mount", mount(str(tmp_path), f"/jig/0/{tmp_path.name}", True)]


def test_how_a_mount_is_written() -> None:
    assert mount("/a b", "/c") == "type=bind,src=/a b,dst=/c"
    assert mount('/a,"b"', "/c", readonly=True) == 'type=bind,"src=/a,""b""",dst=/c,readonly'
