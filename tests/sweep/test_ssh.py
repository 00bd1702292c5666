"""Sweeps on a machine over SSH: through a network that fails, kills, and a cancel that cannot be delivered at once."""

import os
import subprocess

import pytest

from tests.conftest import until
from tests.ssh.conftest import box, carriers, client, host, host_folder, key_pair, make_host  # noqa: F401
from tests.sweep.conftest import TRAIN, Sweeping


@pytest.fixture
def far(box, project, cli, jig_home):  # noqa: F811
    """Sweeps whose runs are on the machine `box`."""
    place = box.host.root / "tmp/words"
    made = Sweeping(project, cli, jig_home, place)
    place.chmod(0o777)
    script = TRAIN.format(place="/tmp/words")
    project.write("train.py", script + "open('outputs/model.txt', 'w').write(x)\n")
    made.config = "box"
    yield made
    made.let()


def far_states(far, sweep: str) -> "dict[int, str]":
    """What the machine's own copies of the events say."""
    return {point: states[-1] for point, states in far.states(sweep).items()}


def test_a_sweep_there(far, box, cli, client, jig_home):  # noqa: F811
    assert cli("computetarget", "check", "box").code == 0  # leaves a connection behind
    (before,) = (client.sockets / f"jig-{os.getuid()}").iterdir()
    far.file("[1, 2, 3]", "at_once: 2\n")
    far.let()
    said = cli("sweep", "-c", "box", "sweep.yml")
    assert said.code == 0, said.out + said.err
    assert "sweep of 3 points (grid), 2 at a time, on box" in said.out
    assert far.states(said.run_id) == {point: ["Completed"] for point in (1, 2, 3)}
    for point, (run_id,) in far.children(said.run_id).items():
        (outputs,) = jig_home.glob(f"mirror/*/{run_id}/work/outputs")
        assert (outputs / "model.txt").read_text() == str(point)
        assert (box.runs / run_id).is_dir()
    assert (jig_home / "runs" / said.run_id).is_dir(), "the sweep itself is here"
    check = subprocess.run(["ssh", "-O", "check", "-o", f"ControlPath={before}", "nobody"], capture_output=True)
    assert check.returncode == 0, "the connection of other commands is not the sweep's to end"
    assert [place.name for place in before.parent.iterdir()] == [before.name], "its own ended with it"


def test_a_machine_out_of_reach_for_a_while(far, box, client):  # noqa: F811
    client.impatient()
    far.file("[1, 2, 3]")
    sweep = far.start()
    until(lambda: far.began(1))
    until(lambda: "[1/3] x=1: Running" in far.log(sweep))
    box.host.cut()
    until(lambda: "1 run goes on there; trying again …" in far.log(sweep), what=far.log(sweep))
    far.let()
    until(lambda: list(box.runs.glob("*/work/outputs/model.txt")))
    box.host.mend()
    assert far.end(sweep).state == "Completed"
    log = far.log(sweep)
    assert log.index("trying again …") < log.index("box can be reached again") < log.index("[1/3] x=1: Completed")
    assert far.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    assert len(far.began()) == 3


def test_killed_and_gone_on_with(far, box):  # noqa: F811
    far.file("[1, 2, 3]", "at_once: 2\n")
    sweep = far.start()
    until(lambda: len(far.began()) == 2)
    far.kill(sweep, "supervisor")
    until(lambda: not far.processes(sweep))
    far.end(sweep)
    again = far.resume(sweep)
    until(lambda: f"going on with {sweep}: 0 done, 2 going" in far.log(again))
    far.let()
    assert far.end(again).state == "Completed"
    assert far.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    assert len(far.began()) == 3


@pytest.mark.parametrize("delay_s", [0.2, 0.5, 0.8, 1.1])
def test_killed_while_it_submits(far, delay_s):
    import time

    far.file("[1, 2, 3, 4]", "at_once: 4\n")
    far.let()
    sweep = far.start()
    time.sleep(delay_s)
    if "supervisor" in far.processes(sweep):
        far.kill(sweep, "supervisor")
    until(lambda: not far.processes(sweep))
    far.end(sweep)
    again = far.resume(sweep)
    assert far.end(again).state == "Completed"
    assert far.states(sweep) == {point: ["Completed"] for point in (1, 2, 3, 4)}
    assert len(far.began()) == 4


def test_cancel(far, box, cli):  # noqa: F811
    far.file("[1, 2, 3]", "at_once: 2\n")
    sweep = far.start()
    until(lambda: len(far.began()) == 2)
    said = cli("cancel", sweep)
    assert (said.code, said.out) == (0, f"{sweep}: Canceled\n")
    assert far.states(sweep) == {1: ["Canceled"], 2: ["Canceled"]}
    assert all(carriers(box.host, run_id) == [] for (run_id,) in far.children(sweep).values())


def test_a_cancel_that_cannot_be_delivered_is_delivered_later(far, box, cli, client):  # noqa: F811
    client.impatient()
    far.file("[1]")
    sweep = far.start()
    until(lambda: far.began(1))
    until(lambda: "x=1: Running" in far.log(sweep))
    box.host.cut()
    said = cli("cancel", "--grace", "1", sweep)
    assert far.run(sweep).state == "Canceled"
    ((run_id,),) = far.children(sweep).values()
    assert f"{run_id}: has not ended yet: " in said.out and "it ends with the next contact" in said.out
    assert said.code == 125
    box.host.mend()
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Canceled")
    assert carriers(box.host, run_id) == []
