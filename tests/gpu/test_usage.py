"""What a run uses, and which processes are its own: real processes."""

import os
import time

import pytest

from jig.runner.gpu import family, proc
from jig.runner.gpu.family import Family, Rarely
from jig.runner.gpu.usage import Usage
from tests.conftest import until
from tests.gpu.obedient import CHILD, PARENT, SLEEP, obedients

TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # the kernel counts whole ones

MIB = 1 << 20


@pytest.fixture
def make():
    """make("words", NAME="value") → a process that does what it is told."""
    with obedients() as make:
        yield make


@pytest.fixture
def no_wait(monkeypatch):
    """Dear looks are taken each time."""
    monkeypatch.setattr(Rarely, "is_due", lambda self: True)


def pids(family: Family) -> "list[int]":
    return sorted(pid for below in family.look().values() for pid in below)


def test_the_guard_itself_is_not_counted(make):
    guard = make()
    usage = Usage("a_1", guard.pid, os.getpid())
    guard("burn(0.2)")
    read = usage.read()
    assert read.pop("read_bytes") < MIB  # its own too: the kernel tells them with those of what it took in
    assert read == {"cpu_s": 0.0, "memory_bytes": 0, "processes": 0, "written_bytes": 0}


def test_memory_and_number_of_all_that_is_below_it(make):
    guard = make()
    usage = Usage("a_1", guard.pid, os.getpid())
    holding = f"x = b'x' * {64 * MIB}; {SLEEP}"
    guard(f"python({f'python({holding!r}).wait()'!r})")
    until(lambda: usage.read()["memory_bytes"] > 64 * MIB, what="the grandchild's memory")
    read = usage.read()
    assert read["processes"] == 2 and read["memory_bytes"] < 128 * MIB


WORK = """
with open(sys.argv[1], "wb") as file:
    file.write(b"x" * (1 << 20))
    os.fsync(file.fileno())
while time.process_time() < 0.3:
    pass
print(open("/proc/self/io").read().split()[9:12:2], os.times()[0] + os.times()[1])
"""


def test_time_and_traffic_of_what_has_ended_stay_counted_also_when_the_guard_has(make, tmp_path):
    guard = make()
    usage = Usage("a_1", guard.pid, os.getpid())
    code = WORK.replace("sys.argv[1]", repr(str(tmp_path / "x")))
    said = guard(f"answer = python({code!r}).communicate()[0].decode()")
    read_bytes, written_bytes = (int(word) for word in said.split("'")[1::2])
    used_s = float(said.split()[-1])
    read = usage.read()
    assert (read["processes"], read["memory_bytes"]) == (0, 0)
    assert read["written_bytes"] == written_bytes
    assert read_bytes <= read["read_bytes"] < read_bytes + MIB  # more files may be read on the way out
    assert used_s - 0.02 <= read["cpu_s"] <= used_s + 0.1
    guard.end()
    after = usage.read()
    assert read_bytes <= after["read_bytes"] and written_bytes <= after["written_bytes"]
    assert used_s - 0.02 <= after["cpu_s"] <= used_s + 0.15


def test_what_a_thread_started_is_found_by_a_full_look(make, no_wait):
    guard = make()
    guard(f"t = threading.Thread(target=lambda: ({CHILD}, time.sleep(60)), daemon=True); t.start()")
    found = Family("a_1", guard.pid)
    until(lambda: guard.children() != [], what="the child")
    assert pids(found) == sorted([guard.pid, *guard.children()])


def test_a_kernel_that_does_not_list_children(make, no_wait, monkeypatch):
    guard = make()
    for _ in range(2):
        guard(CHILD)
    children = guard.children()
    monkeypatch.setattr(proc, "TELLS_CHILDREN", False)
    monkeypatch.setattr(proc, "children", lambda pid, of_all_threads: [])
    found = Family("a_1", guard.pid)
    assert pids(found) == sorted([guard.pid, *children])
    monkeypatch.setattr(Rarely, "is_due", lambda self: False)
    assert pids(found) == sorted([guard.pid, *children])  # not forgotten meanwhile


def test_a_container_is_found_by_the_id_in_its_environment_with_all_below_it(make, no_wait):
    guard, first = make(), make(JIG_RUN_ID="a_1")
    first("os.environ.pop('JIG_RUN_ID')")
    first(CHILD)
    child = first.children()
    other = make(JIG_RUN_ID="a_12")
    usage = Usage("a_1", guard.pid, os.getpid())
    usage.read()
    before = usage.read()
    assert before["processes"] == 2
    first("burn(0.2)")
    read = usage.read()
    assert 0.2 - TICK_S <= round(read["cpu_s"] - before["cpu_s"], 2) <= 0.4
    assert usage.family.owns(first.pid) and usage.family.owns(child[0]) and not usage.family.owns(other.pid)
    first.close()
    after = usage.read()
    assert after["processes"] == 0 and after["cpu_s"] >= read["cpu_s"]  # nobody of the run took it in


def test_a_process_of_a_container_that_is_met_on_a_device_leads_to_the_others(make):
    guard, first = make(), make(JIG_RUN_ID="a_1")
    first(f"{CHILD}; {CHILD}")
    met, other = first.children()
    found = Family("a_1", guard.pid)
    assert pids(found) == [guard.pid]  # no look through the table yet
    assert found.owns(met)
    assert pids(found) == sorted([guard.pid, first.pid, met, other])


def test_a_run_that_was_submitted_from_within_is_not_part_of_it(make, no_wait):
    guard = make()
    start = f"answer = python({PARENT!r}, '/x/runner/__main__.py', 'supervise', %r).pid"
    nested, own = guard(start % "b_1"), guard(start % "a_1")
    until(lambda: len(proc.children(nested, True)) == 1 and len(proc.children(own, True)) == 1, what="their children")
    found = Family("a_1", guard.pid)
    assert pids(found) == sorted([guard.pid, own, *proc.children(own, True)])
    assert not found.owns(proc.children(nested, True)[0])


def test_whose_a_process_was_is_known_for_a_while_after_its_end(make, no_wait, monkeypatch):
    guard = make()
    guard(f"child = {CHILD}")
    (child,) = guard.children()
    found = Family("a_1", guard.pid)
    assert not found.owns(os.getpid()) and not found.owns(1)
    found.look()
    assert found.owns(child) and not found.owns(guard.pid)
    guard("child.kill(); child.wait()")
    found.look()
    assert found.owns(child)
    monkeypatch.setattr(family, "REMEMBERED_S", 0.0)
    found.look()
    assert not found.owns(child)


def test_another_process_by_the_pid_of_the_guard_is_not_the_guard(make):
    guard = make()
    guard(CHILD)
    found = Family("a_1", guard.pid)
    found._roots[guard.pid] -= 1  # as if the guard had begun earlier
    assert pids(found) == []


def test_what_is_dear_is_done_less_often(monkeypatch):
    now, used = [100.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: used[0])

    def look(cost_s: float) -> None:
        used[0] += cost_s

    rarely, done = Rarely(1.0, 1.0, 60.0), []
    while now[0] < 300:
        if rarely.is_due():
            rarely.timed(lambda: look(0.001))
            done.append(now[0] - 100)
        now[0] += 0.5
    assert done == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 124.0, 184.0]
    rarely.timed(lambda: look(0.2))
    now[0] += 199
    assert not rarely.is_due()
    now[0] += 2
    assert rarely.is_due()
