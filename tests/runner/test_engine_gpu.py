import shutil

import pytest

from jig.runner import engine_facts, engine_gpu, engine_gpu_lacks
from jig.runner.engine import Engine, EngineFailed, connect
from jig.runner.engine_gpu_lacks import CONFIGURE, CONFIGURE_ROOTLESS, INSTALL
from jig.runner.engine_refusals import DRIVER, ROOT, TOOLKIT, WITHOUT
from jig.runner.environment import find_program
from tests.engines.fixtures import point_docker_at
from tests.engines.gpu.driver import UUIDS

VISIBLE = "NVIDIA_VISIBLE_DEVICES="
CAPABLE = ["-e", "NVIDIA_DRIVER_CAPABILITIES=all"]
NOT_SELECTED = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
UNRESOLVED = (
    "docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all\n"
)


class Machine:
    """What this machine seems to have, whatever it has."""

    def __init__(self, folder, monkeypatch) -> None:
        self.node, self.driver, self.cards = folder / "nvidiactl", folder / "driver", folder / "cards"
        self.programs = folder / "programs"
        for place in (self.cards, self.programs):
            place.mkdir(parents=True)
        monkeypatch.setattr(engine_gpu, "NODES", (str(self.node),))
        monkeypatch.setattr(engine_gpu_lacks, "DRIVER_FOLDER", str(self.driver))
        monkeypatch.setattr(engine_gpu_lacks, "CARDS", str(self.cards))
        monkeypatch.setattr(engine_gpu_lacks, "find_program", lambda name, _: find_program(name, str(self.programs)))

    def plug_in(self, vendor: str = "0x10de", kind: str = "0x030200") -> None:
        card = self.cards / f"0000:0{len(list(self.cards.iterdir()))}:00.0"
        card.mkdir()
        (card / "vendor").write_text(vendor + "\n")
        (card / "class").write_text(kind + "\n")

    def load_driver(self, gpus: int = 1) -> None:
        for number in range(gpus):
            (self.driver / f"gpus/0000:0{number}:00.0").mkdir(parents=True)

    def install(self, name: str) -> None:
        (self.programs / name).write_text("#!/bin/sh\nexit 1\n")
        (self.programs / name).chmod(0o755)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path / "machine", monkeypatch)


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "home")


def reach(docker, monkeypatch) -> Engine:
    point_docker_at(docker, monkeypatch)
    return connect("version")[0]


def devices(engine: Engine, way: engine_gpu.Way) -> "list[str]":
    """The UUIDs that a container started this way sees."""
    starter = Engine(way.program or engine.program, engine.address, way.environ)
    said = starter.need("run", "--rm", "--network", "none", *way.options, "jig-test/plain:1", "nvidia-smi", "-L")
    return [line.rpartition("UUID: ")[2].rstrip(")") for line in said.decode().splitlines()]


def refusal(engine: Engine, home: str, wanted: "str | int", **options) -> EngineFailed:
    with pytest.raises(EngineFailed) as caught:
        engine_gpu.choose(engine, home, wanted, **options)
    assert caught.value.code == "gpu"
    return caught.value


def test_by_gpus(make_engine, driver, home, monkeypatch):
    docker = make_engine(**driver.by_gpus())
    engine = reach(docker, monkeypatch)
    way = engine_gpu.choose(engine, home, "all")
    assert (way.name, way.options, way.program, way.environ) == ("gpus", ["--gpus", "all"], None, {})
    assert devices(engine, way) == list(UUIDS)
    for wanted in (1, "1"):
        way = engine_gpu.choose(engine, home, wanted)
        assert (way.name, way.options, devices(engine, way)) == ("gpus", ["--gpus", '"device=0"'], [UUIDS[0]])
    way = engine_gpu.choose(engine, home, "2")
    assert (way.options, devices(engine, way)) == (["--gpus", '"device=0,1"'], list(UUIDS))
    way = engine_gpu.choose(engine, home, "1", devices=[UUIDS[1]])
    assert (way.options, devices(engine, way)) == (["--gpus", f'"device={UUIDS[1]}"'], [UUIDS[1]])
    assert docker.docker("ps", "-aq") + docker.docker("images", "-q", "--filter", "label=jig.probe") == ""


def test_by_runtime(make_engine, driver, home, monkeypatch):
    engine = reach(make_engine(**driver.by_runtime()), monkeypatch)
    way = engine_gpu.choose(engine, home, "all")
    assert (way.name, way.program, way.environ) == ("runtime", None, {})
    assert way.options == ["--runtime=nvidia", "-e", VISIBLE + "all", *CAPABLE]
    assert devices(engine, way) == list(UUIDS)
    way = engine_gpu.choose(engine, home, "all", devices=["1"])
    assert way.options == ["--runtime=nvidia", "-e", VISIBLE + "1", *CAPABLE]
    assert devices(engine, way) == [UUIDS[1]]


def test_by_cdi(cdi_engine, home, monkeypatch):
    engine = reach(cdi_engine, monkeypatch)
    way = engine_gpu.choose(engine, home, "all")
    assert (way.name, way.options, way.program) == ("cdi", ["--device", "nvidia.com/gpu=all"], None)
    assert devices(engine, way) == list(UUIDS)
    way = engine_gpu.choose(engine, home, "1")
    assert (way.options, devices(engine, way)) == (["--device", "nvidia.com/gpu=0"], [UUIDS[0]])
    assert engine_gpu.choose(engine, home, "2").options == [
        "--device",
        "nvidia.com/gpu=0",
        "--device",
        "nvidia.com/gpu=1",
    ]


def test_by_the_old_program(docker_host, driver, home, monkeypatch):
    driver.by_nvidia_docker(monkeypatch)
    engine = reach(docker_host, monkeypatch)
    way = engine_gpu.choose(engine, home, "all")
    assert (way.name, way.program, way.environ) == ("nvidia-docker", ["nvidia-docker"], {})
    assert devices(engine, way) == list(UUIDS)
    way = engine_gpu.choose(engine, home, "1")
    assert (way.environ, devices(engine, way)) == ({"NV_GPU": "0"}, [UUIDS[0]])


def test_the_best_way_comes_first(make_engine, driver, home, monkeypatch):
    engine = reach(make_engine(**driver.by_gpus(), **driver.by_runtime()), monkeypatch)
    assert engine_gpu.choose(engine, home, "all").name == "gpus"
    assert [way.name for way in engine_gpu.ways(engine, ["all"])] == ["cdi", "gpus", "runtime"]


def test_sudo_hands_on_what_it_is_told_to(driver, monkeypatch):
    driver.by_nvidia_docker(monkeypatch)
    engine = Engine(["sudo", "-n", "docker", "-H", "unix:///x"], "unix:///x")
    way = engine_gpu.ways(engine, ["0", "1"])[-1]
    assert way.program == ["sudo", "-n", "NV_GPU=0,1", "nvidia-docker", "-H", "unix:///x"]
    assert way.environ == {}
    assert engine_gpu.ways(engine, ["all"])[-1].program == ["sudo", "-n", "nvidia-docker", "-H", "unix:///x"]


def test_what_was_tried_is_kept(make_engine, driver, home, monkeypatch):
    docker = make_engine(**driver.by_gpus())
    engine = reach(docker, monkeypatch)
    engine_gpu.choose(engine, home, "all")
    engine_gpu.choose(engine, home, "1")
    silent, place = Engine(["/nowhere/docker"], engine.address), engine_facts._place(engine, home)
    monkeypatch.setattr(engine_facts, "_place", lambda *_: place)
    assert engine_gpu.choose(silent, home, "all").options == ["--gpus", "all"]
    assert engine_gpu.choose(silent, home, "1").options == ["--gpus", '"device=0"']
    assert silent.facts(home)["runtimes"] == engine.facts(home)["runtimes"]
    engine_gpu.forget(silent, home)
    assert silent.facts(home)["kind"] == "linux"
    with pytest.raises(EngineFailed, match="cannot be started"):
        engine_gpu.choose(silent, home, "all")


def test_a_refusal_is_not_kept(make_engine, driver, home, monkeypatch):
    """Who has just installed the toolkit need not wait a day."""
    docker = make_engine()
    engine = reach(docker, monkeypatch)
    refusal(engine, home, "all")
    docker.configure(**driver.by_runtime())
    docker.stop()
    docker.start()
    assert engine_gpu.choose(engine, home, "all").name == "runtime"


def test_a_device_that_is_there_is_proof(make_engine, driver, home, monkeypatch):
    """The container has /dev/null, as this machine does: it stands for the device of the driver."""
    monkeypatch.setattr(engine_gpu, "NODES", ("/dev/null",))
    engine = reach(make_engine(**driver.by_gpus()), monkeypatch)
    assert engine_gpu.choose(engine, home, "all").name == "gpus"


def test_a_container_without_the_device_is_none(make_engine, driver, home, machine, monkeypatch):
    """The engine is happy, and the container would compute on the processor: never silently."""
    engine = reach(make_engine(**driver.by_gpus()), monkeypatch)
    machine.node.touch()
    failed = refusal(engine, home, "all")
    assert failed.reason == "the engine takes the wish for a GPU, and gives the container none"
    assert failed.hint == f"let NVIDIA's container toolkit write its settings anew:\n{CONFIGURE}\n{ROOT[2:]}"


def test_no_card(docker_host, home, machine, monkeypatch):
    machine.plug_in(vendor="0x8086")
    machine.plug_in(kind="0x040300")  # NVIDIA's, for sound
    failed = refusal(reach(docker_host, monkeypatch), home, "all")
    assert failed.reason == "this machine has no NVIDIA GPU"
    assert failed.hint == "use a target on a machine that has one; " + WITHOUT
    assert docker_host.docker("ps", "-aq") + docker_host.docker("images", "-q", "--filter", "label=jig.probe") == ""


def test_no_driver(docker_host, home, machine, monkeypatch):
    engine = reach(docker_host, monkeypatch)
    machine.plug_in()
    failed = refusal(engine, home, "all")
    assert (failed.reason, failed.hint) == ("this machine has an NVIDIA GPU and no driver for it", DRIVER)
    shutil.rmtree(machine.cards)
    assert refusal(engine, home, "all").reason == "this machine has no NVIDIA driver"


def test_a_driver_that_is_not_loaded(docker_host, home, machine, monkeypatch):
    machine.install("nvidia-smi")
    failed = refusal(reach(docker_host, monkeypatch), home, "all")
    assert failed.reason == "the NVIDIA driver of this machine is installed and not loaded"
    assert (
        failed.hint == "`sudo modprobe nvidia` loads it, or says why not; after an update, restart the machine" + ROOT
    )


def test_no_toolkit(docker_host, home, machine, monkeypatch):
    machine.load_driver()
    failed = refusal(reach(docker_host, monkeypatch), home, "all")
    assert failed.reason == "this machine lacks NVIDIA's container toolkit, which gives containers the GPU"
    assert failed.hint == f"install it (Ubuntu and Debian):\n{INSTALL}{CONFIGURE}\n{ROOT[2:]}"
    assert failed.hint.splitlines()[-4:] == [
        "  sudo apt-get update && sudo apt-get install -y nvidia-container-toolkit",
        "  sudo nvidia-ctk runtime configure --runtime=docker",
        "  sudo systemctl restart docker",
        "nobody without root on that machine can do it; to run without a GPU, set `nvidiaDocker: false`",
    ]


def test_a_toolkit_that_the_engine_does_not_use(docker_host, home, machine, monkeypatch):
    machine.load_driver()
    machine.install("nvidia-ctk")
    failed = refusal(reach(docker_host, monkeypatch), home, "all")
    assert (
        failed.reason
        == "NVIDIA's container toolkit is installed on this machine, and the Docker engine does not use it"
    )
    assert failed.hint == f"let the engine use it:\n{CONFIGURE}\n{ROOT[2:]}"


def test_what_the_toolkit_says_comes_through(make_engine, driver, home, machine, monkeypatch):
    engine = reach(make_engine(**driver.by_gpus()), monkeypatch)
    machine.load_driver()
    failed = refusal(engine, home, "all", devices=["0", UUIDS[1][:-1] + "9"])
    assert failed.reason == f"the machine has no GPU {UUIDS[1][:-1]}9"
    driver.unload()
    failed = refusal(engine, home, "all")
    assert (failed.reason, failed.hint) == ("the NVIDIA driver of the machine is not loaded", DRIVER)


def test_more_than_there_are(make_engine, driver, home, machine, monkeypatch):
    engine = reach(make_engine(**driver.by_runtime()), monkeypatch)
    machine.load_driver(gpus=2)
    failed = refusal(engine, home, "4")
    assert failed.reason == "this machine has 2 GPUs, and the run asks for number 2, 3 (they are counted from 0)"
    assert failed.hint == "ask for fewer: `nvidia-smi -L` on the machine lists them"


def explain(*refused: "tuple[str, str]", address: str = "tcp://far:2375", **changed) -> EngineFailed:
    facts = {"version": "20.10.24", "runtimes": ["runc"], "rootless": False, "sees": False, **changed}
    return engine_gpu_lacks.explain(Engine(["docker"], address), facts, ["all"], list(refused))


def test_an_engine_elsewhere_is_not_judged_by_this_machine(machine):
    failed = explain(("gpus", NOT_SELECTED))
    assert failed.reason == "that machine lacks NVIDIA's container toolkit, which gives containers the GPU"


def test_an_old_engine():
    failed = explain(("gpus", NOT_SELECTED), version="18.09.1")
    assert failed.reason == "the Docker engine (version 18.09.1) is too old to give a container a GPU"
    assert failed.hint.startswith("bring it to 19.03 or newer: ")
    assert "too old" not in explain(("gpus", NOT_SELECTED), version="19.03.8").reason


def test_an_old_program():
    failed = explain(("gpus", "unknown flag: --gpus\nSee 'docker run --help'.\n"))
    assert failed.reason == "the docker program is too old to know --gpus"
    failed = explain(("cdi", "docker: nvidia.com/gpu=all is not an absolute path.\n"), ("gpus", NOT_SELECTED))
    assert failed.reason == "the docker program is too old for this way to give a container a GPU"


def test_cdi_without_a_description_is_a_missing_toolkit():
    failed = explain(("cdi", UNRESOLVED), ("gpus", NOT_SELECTED), ("runtime", "not offered"), version="26.1.5")
    assert "lacks NVIDIA's container toolkit" in failed.reason
    failed = explain(
        (
            "gpus",
            "docker: Error response from daemon: failed to discover GPU vendor from CDI: no known GPU vendor found\n",
        )
    )
    assert "lacks NVIDIA's container toolkit" in failed.reason


def test_an_engine_without_root(machine):
    machine.load_driver()
    machine.install("nvidia-ctk")
    failed = explain(("gpus", NOT_SELECTED), address="unix:///x", rootless=True, sees=True)
    assert failed.hint == f"let the engine use it:\n{CONFIGURE_ROOTLESS}\n{ROOT[2:]}"


def test_words_that_nobody_knows():
    failed = explain(("gpus", "docker: Error response from daemon: the moon is full.\n"))
    assert failed.reason == "the engine does not give a container a GPU (docker says: the moon is full)"
    assert (failed.code, failed.hint) == (
        "gpu",
        "`docker run --rm --gpus all IMAGE nvidia-smi` must work on that machine" + ROOT,
    )
    assert (
        explain(("gpus", "docker: Error response from daemon: unknown or invalid runtime name: nvidia\n")).hint
        == TOOLKIT
    )
