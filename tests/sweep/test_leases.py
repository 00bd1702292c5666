"""Sweeps and GPUs: the box is kept busy, and not overrun."""

from jig.runner import events
from tests.conftest import until
from tests.gpu.test_runs import past


def leased(sweeping, sweep: str) -> "list[tuple[float, float, int]]":
    """When each run had a device, and which."""
    found = []
    for (run_id,) in sweeping.children(sweep).values():
        seen = past(sweeping.home.path, run_id)
        (lease,) = [event for event in seen if event["event"] == "leased"]
        found.append((lease["time"], seen[-1]["time"], lease["indices"][0]))
    return found


def test_as_many_as_there_are_devices(sweeping, project, driver_here):
    """Two devices, one a run: two at a time, when nothing else is said."""
    project.runconfig("local", Gpus=1)
    sweeping.file("[1, 2, 3, 4]")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    assert "sweep of 4 points (grid), 2 at a time, on local" in sweeping.log(sweep)
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    times = leased(sweeping, sweep)
    assert {device for _, _, device in times} == {0, 1}
    for device in (0, 1):
        mine = sorted(one for one in times if one[2] == device)
        assert all(before[1] <= after[0] + 0.05 for before, after in zip(mine, mine[1:], strict=False))


def test_more_than_there_are_devices_wait_there(sweeping, project, driver_here):
    project.runconfig("local", Gpus=1)
    sweeping.file("[1, 2, 3, 4]", "at_once: 4\n")
    sweep = sweeping.start()
    until(lambda: sweeping.log(sweep).count("Queued, waiting for a GPU") == 2)
    assert len(sweeping.began()) == 2
    sweeping.let(next(point for point in (1, 2, 3, 4) if sweeping.began(point)))
    until(lambda: len(sweeping.began()) == 3)
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in range(1, 5)}


def test_one_that_waits_is_canceled_with_the_sweep(sweeping, project, driver_here, cli):
    project.runconfig("local", Gpus=2)
    sweeping.file("[1, 2]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: "Queued, waiting for a GPU" in sweeping.log(sweep))
    assert cli("cancel", sweep).code == 0
    assert sweeping.states(sweep) == {1: ["Canceled"], 2: ["Canceled"]}


def test_two_for_each_run(sweeping, project, driver_here):
    project.runconfig("local", Gpus=2)
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    assert "1 at a time" in sweeping.log(sweep)
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"


def test_a_device_that_somebody_has_does_not_count(sweeping, project, driver_here, cli):
    project.runconfig("local", Gpus=1)
    project.write("hold.py", "import time; time.sleep(600)")
    holder = cli("submit", "-a", "-c", "local", "hold.py").run_id
    until(lambda: any(event["event"] == "leased" for event in past(sweeping.home.path, holder)))
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: "1 at a time" in sweeping.log(sweep))
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    assert cli("cancel", holder).code == 0


def test_no_run_is_taken_where_there_is_no_driver(sweeping, project, cli):
    project.runconfig("local", Gpus=1)
    sweeping.file("[1, 2]")
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 125
    assert "error: the run wants a GPU, and there is no NVIDIA driver on this machine\n" in said.out
    assert sweeping.children(said.run_id) == {}
    assert events.FINAL and sweeping.run(said.run_id).state == "Failed"
    assert f"not every point has been run; to go on: jig sweep --resume {said.run_id}\n" in said.out
