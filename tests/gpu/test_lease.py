"""Leases of one user: the line, what is refused, what a death leaves, and a folder that is not what it should be."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jig.runner.gpu import lease, lease_files
from jig.runner.gpu.lease import Lease, LeaseRefused, Waiting, holders
from jig.runner.gpu.lease_rules import clock
from tests.gpu.lease_rig import SOURCE, Start, device, held, look, process
from tests.mounts import Mounted


def ask(mine: Lease, *devices: object, **more: str) -> object:
    said = mine.ask(look(*devices, **more))  # type: ignore[arg-type]
    return (said.reason, said.position, said.of) if isinstance(said, Waiting) else said


def tickets(lease_place: Path) -> list[str]:
    return sorted(os.listdir(lease_place / "jig-gpu"))


def test_a_run_gets_devices_and_the_next_one_waits_for_them(lease_place: Path) -> None:
    first, second, third = Lease("one", 2, False), Lease("two", 1, False), Lease("three", 1, False)
    assert ask(first, 0, 1) == ["GPU-0", "GPU-1"]
    since = clock(holders()[0]["since"])
    reason = f"GPUs 0 and 1 are held by run one of root since {since}"
    assert ask(second, 0, 1) == (reason, 1, 1)
    assert ask(third, 0, 1) == (reason, 2, 2)
    assert ask(second, 0, 1) == (reason, 1, 2)
    assert ask(first, 0, 1) == ["GPU-0", "GPU-1"]
    first.release()
    asked = clock(holders()[0]["since"])
    assert ask(third, 0, 1) == (f"run two of root asked before, at {asked}, and waits for 1 GPU", 2, 2)
    assert ask(second, 0, 1) == ["GPU-0"]
    assert ask(third, 0, 1) == ["GPU-1"]
    second.release()
    third.release()
    third.release()
    assert tickets(lease_place) == []


def test_who_holds_and_who_waits(lease_place: Path) -> None:
    assert holders() == []
    before = time.time()
    first, second = Lease("one", 1, False), Lease("two", 1, False)
    ask(first, 0), ask(second, 0)
    found = holders()
    assert all(before - 1 < one.pop("since") < time.time() + 1 for one in found)
    mine = {"user": "root", "pid": os.getpid(), "want": 1}
    assert found == [
        {"run": "one", "uuids": ["GPU-0"], "waiting": False, **mine},
        {"run": "two", "uuids": [], "waiting": True, **mine},
    ]
    first.release(), second.release()
    assert holders() == []


def test_one_that_leaves_the_line_makes_room(lease_place: Path) -> None:
    holding, large, small = Lease("a", 1, False), Lease("b", 2, False), Lease("c", 1, False)
    assert ask(holding, 0, 1) == ["GPU-0"]
    assert isinstance(ask(large, 0, 1), tuple) and isinstance(ask(small, 0, 1), tuple)
    large.release()
    assert ask(small, 0, 1) == ["GPU-1"]
    holding.release(), small.release()


def test_a_foreign_process_counts_unless_told_otherwise(lease_place: Path) -> None:
    busy = device(0, processes=[process("bob", gib=8.1)])
    careful, bold = Lease("a", 1, False), Lease("b", 1, True)
    assert ask(careful, busy) == ("GPU 0 is in use by a process of bob (python, 8.1 GiB)", 1, 1)
    assert ask(bold, busy) == (
        f"run a of root asked before, at {clock(holders()[0]['since'])}, and waits for 1 GPU",
        2,
        2,
    )
    careful.release()
    assert ask(bold, busy) == ["GPU-0"]
    bold.release()


@pytest.mark.parametrize(
    ("want", "visible", "told", "reason", "hint"),
    [
        (
            3,
            None,
            look(0, 1),
            "3 GPUs wanted: this machine has 2 GPUs",
            "ask for fewer (`Gpus` in the run configuration), or choose another target",
        ),
        (
            1,
            None,
            look(),
            "1 GPU wanted: this machine has none",
            "ask for fewer (`Gpus` in the run configuration), or choose another target",
        ),
        (
            2,
            "1",
            look(0, 1),
            "2 GPUs wanted: of the 2 here, CUDA_VISIBLE_DEVICES=1 leaves 1",
            "that is set in the environment on the machine: by a scheduler, or by a profile of the login",
        ),
        (
            1,
            None,
            look(error="the driver does not answer", hint="restart the machine"),
            "1 GPU wanted: the driver does not answer",
            "restart the machine",
        ),
    ],
)
def test_what_can_never_be_had_is_refused_at_once(
    lease_place: Path,
    monkeypatch: pytest.MonkeyPatch,
    want: int,
    visible: str | None,
    told: object,
    reason: str,
    hint: str,
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(LeaseRefused) as refused:
        Lease("a", want, False).ask(told)  # type: ignore[arg-type]
    assert (refused.value.reason, refused.value.hint) == (reason, hint)
    assert os.listdir(lease_place) == []


def test_only_devices_that_the_environment_leaves_are_taken(lease_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    limited = Lease("a", 1, False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert ask(limited, 0, 1) == ["GPU-1"]
    limited.release()


def test_a_device_that_is_lost_while_a_run_waits_ends_the_waiting(lease_place: Path) -> None:
    first, second = Lease("a", 1, False), Lease("b", 2, False)
    ask(first, 0, 1), ask(second, 0, 1)
    with pytest.raises(LeaseRefused, match="^2 GPUs wanted: this machine has 1 GPU: "):
        second.ask(look(0))
    assert [one["run"] for one in holders()] == ["a"]
    first.release()


def test_a_driver_that_falls_silent_while_a_run_waits_has_a_minute(
    lease_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Lease("a", 1, False), Lease("b", 1, False)
    ask(first, 0), ask(second, 0)
    assert ask(second, error="the driver does not answer") == ("the driver does not answer", 1, 1)
    first.release()
    assert ask(second, 0) == ["GPU-0"]
    third = Lease("c", 1, False)
    ask(third, 0)
    monkeypatch.setattr(lease, "UNWELL_S", 0.0)
    with pytest.raises(LeaseRefused, match="^1 GPU wanted: the driver does not answer$"):
        ask(third, error="the driver does not answer")
    assert [one["run"] for one in holders()] == ["b"]
    second.release()


def test_a_killed_run_frees_its_devices_and_its_place(lease_place: Path, start_run: Start) -> None:
    holding, waiting, next_one = start_run("a"), start_run("b"), start_run("c")
    assert holding.ask(0) == ["GPU-0"]
    assert waiting.ask(0)[1:] == [1, 1]
    assert next_one.ask(0)[1:] == [2, 2]
    waiting.kill()
    assert next_one.ask(0)[1:] == [1, 1]
    holding.kill()
    assert next_one.ask(0) == ["GPU-0"]
    assert tickets(lease_place) == ["3"]


def test_the_guard_of_a_killed_supervisor_keeps_the_devices_until_it_ends(start_run: Start) -> None:
    holding, waiting = start_run("a"), start_run("b")
    assert holding.ask(0) == ["GPU-0"]
    guard = holding.start_guard()
    holding.kill()
    reason, position, of = waiting.ask(0)
    assert (reason.split(" since ")[0], position, of) == ("GPU 0 is held by run a of root", 1, 1)
    os.kill(guard, signal.SIGKILL)
    assert _soon(lambda: waiting.ask(0), ["GPU-0"])


def test_a_script_that_outlives_everybody_does_not_keep_the_lease(start_run: Start) -> None:
    holding, waiting = start_run("a"), start_run("b")
    assert holding.ask(0) == ["GPU-0"]
    script = holding.start_script()
    try:
        holding.kill()
        assert _soon(lambda: waiting.ask(0), ["GPU-0"])  # soon: the program may be about to begin
        assert Path(f"/proc/{script}").exists()
    finally:
        os.kill(script, signal.SIGKILL)


def _soon(ask: object, wanted: object) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if ask() == wanted:  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def test_a_run_that_waits_and_does_not_ask_any_more_is_passed_over_and_keeps_its_place(lease_place: Path) -> None:
    holding, asleep, awake = Lease("a", 1, False), Lease("b", 1, False), Lease("c", 1, False)
    for one in (holding, asleep, awake):
        ask(one, 0)
    long_ago = time.time() - lease_files.ASLEEP_S - 5
    for name in ("1", "2"):  # who holds devices need not ask
        os.utime(lease_place / "jig-gpu" / name, (long_ago, long_ago))
    reason = f"GPU 0 is held by run a of root since {clock(holders()[0]['since'])}"
    assert ask(awake, 0) == (reason, 1, 1)
    assert ask(asleep, 0) == (reason, 1, 2)
    assert ask(awake, 0) == (reason, 2, 2)
    for one in (holding, asleep, awake):
        one.release()


def test_a_run_that_waits_follows_what_the_machine_has(lease_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [device(index, f"GPU-{index:060}", processes=[process("bob")]) for index in range(90)]
    waiting = Lease("a", 2, False)
    assert isinstance(ask(waiting, *busy), tuple)
    assert (lease_place / "jig-gpu" / "1").stat().st_size > lease_files.TICKET_BYTES
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    limited = Lease("b", 1, False)
    words = "GPU 5 is in use by a process of bob (python)"
    assert ask(limited, *busy) == (words, 2, 2)
    assert isinstance(ask(waiting, *busy[:2]), tuple)
    assert (lease_place / "jig-gpu" / "1").stat().st_size == lease_files.TICKET_BYTES
    assert ask(limited, *busy) == (words, 1, 1)
    waiting.release(), limited.release()


def test_a_folder_that_is_cleaned_up_in_the_moment_of_looking_decides_nothing(lease_place: Path) -> None:
    folder = lease_files.open_folder(make=True)
    assert folder is not None
    (lease_place / "jig-gpu").rmdir()
    assert not folder.take()
    (lease_place / "jig-gpu").mkdir()
    assert not folder.take()
    folder.close()


def test_a_ticket_that_somebody_removed_is_made_anew(lease_place: Path) -> None:
    holding, waiting = Lease("a", 1, False), Lease("b", 1, False)
    ask(holding, 0), ask(waiting, 0)
    subprocess.run(["rm", "-r", lease_place / "jig-gpu"], check=True)
    assert ask(waiting, 0) == ["GPU-0"]
    assert [one["run"] for one in holders()] == ["b"]
    holding.release(), waiting.release()
    assert tickets(lease_place) == []


def test_somebody_who_keeps_the_line_locked_hangs_nobody(lease_place: Path) -> None:
    first, second = Lease("a", 1, False), Lease("b", 1, False)
    ask(first, 0), ask(second, 0)
    code = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(lease_place / "jig-gpu")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locking:
        assert locking.stdout and locking.stdout.readline()
        began = time.monotonic()
        assert ask(second, 0) == (f"the line for GPUs is kept locked by process {locking.pid} of root", 1, 1)
        assert ask(Lease("c", 1, False), 0)[1:] == (0, 0)  # type: ignore[index]
        assert [one["run"] for one in holders()] == ["a", "b"]
        assert time.monotonic() - began < 5
        first.release()
        assert tickets(lease_place) == ["2"]
        locking.kill()
    assert ask(second, 0) == ["GPU-0"]
    second.release()


def test_dead_tickets_and_things_that_are_none_do_no_harm(lease_place: Path) -> None:
    folder = lease_place / "jig-gpu"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "1").symlink_to("/etc/passwd")
    (folder / "2").write_text("left by a run that was killed")
    os.mkfifo(folder / "3")
    (folder / "4").mkdir()
    (folder / "05").write_text("")
    (folder / "٦").write_text("")
    garbage = held(folder / "7", os.O_CREAT | os.O_RDWR)
    os.write(garbage, b"[" * 60000)
    mine = Lease("a", 1, False)
    assert ask(mine, 0) == ["GPU-0"]
    assert tickets(lease_place) == sorted(["1", "2", "3", "4", "05", "٦", "7"])
    assert [one["run"] for one in holders()] == ["a"]
    mine.release()
    os.close(garbage)
    ask(mine, 0)
    assert tickets(lease_place) == sorted(["1", "2", "3", "4", "05", "٦"])
    mine.release()


def test_a_ticket_with_the_last_number_is_told_of(lease_place: Path) -> None:
    first, second = Lease("a", 1, False), Lease("b", 1, False)
    ask(first, 0)
    last = lease_place / "jig-gpu" / "999999999999999999"
    (lease_place / "jig-gpu" / "1").rename(last)
    with pytest.raises(LeaseRefused) as refused:
        ask(second, 0)
    assert refused.value.reason == (
        f"GPUs cannot be shared out: a ticket of root in {lease_place}/jig-gpu has the last number that there is"
    )
    assert refused.value.hint == f"its owner or an administrator can remove it: rm {last}"
    last.unlink()
    first.release()


def test_folder_and_tickets_are_for_everybody_to_read_and_nobody_cleans_them_up(lease_place: Path) -> None:
    before = os.umask(0o077)
    try:
        mine = Lease("a", 1, False)
        ask(mine, 0)
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert stat.filemode((lease_place / "jig-gpu").stat().st_mode) == "drwxrwxrwt"
    assert stat.filemode((lease_place / "jig-gpu" / "1").stat().st_mode) == "-rw-r--r-T"
    said = json.loads((lease_place / "jig-gpu" / "1").read_text())
    assert said.pop("since") > 0
    assert said == {"run": "a", "pid": os.getpid(), "want": 1, "among": ["GPU-0"], "uuids": ["GPU-0"]}
    mine.release()


def test_a_folder_of_ours_with_another_mode_is_put_right(lease_place: Path) -> None:
    (lease_place / "jig-gpu").mkdir(mode=0o700)
    mine = Lease("a", 1, False)
    assert ask(mine, 0) == ["GPU-0"]
    assert stat.filemode((lease_place / "jig-gpu").stat().st_mode) == "drwxrwxrwt"
    mine.release()


@pytest.mark.parametrize("kind", ["link", "broken link", "file"])
def test_something_else_in_the_place_of_the_folder_is_not_used(lease_place: Path, tmp_path: Path, kind: str) -> None:
    place = lease_place / "jig-gpu"
    if kind == "file":
        place.touch()
    else:
        place.symlink_to(tmp_path if kind == "link" else tmp_path / "nothing")
    with pytest.raises(LeaseRefused) as refused:
        ask(Lease("a", 1, False), 0)
    assert refused.value.reason == (
        f"GPUs cannot be shared out: {place} is not a folder, but something that belongs to root"
    )
    assert refused.value.hint == f"an administrator can remove it, and the next run makes it anew: rm -r {place}"
    assert os.listdir(tmp_path) == []


def test_the_place_is_one_that_every_user_can_write_in(
    lease_place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    monkeypatch.setattr(lease_files, "PARENTS", (str(closed), str(lease_place)))
    assert lease_files.place() == f"{lease_place}/jig-gpu"
    with monkeypatch.context() as patch:
        patch.setattr(lease_files, "PARENTS", (str(lease_place), str(tmp_path)))
        patch.setattr(lease_files, "is_network_disk", lambda path: path == str(lease_place))
        tmp_path.chmod(0o1777)
        assert lease_files.place() == f"{tmp_path}/jig-gpu"
    monkeypatch.setattr(lease_files, "PARENTS", (str(closed), str(tmp_path / "none")))
    with pytest.raises(LeaseRefused) as refused:
        holders()
    assert refused.value.reason == (
        f"GPUs cannot be shared out: neither {closed} nor {tmp_path}/none is a folder of this machine's own disk in which "
        "every user can write"
    )
    assert refused.value.hint == f"an administrator can put that right: chmod 1777 {closed}"


def test_a_full_disk_is_told_of(small_disk: Mounted, lease_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = small_disk("64k")
    disk.chmod(0o1777)
    monkeypatch.setattr(lease_files, "PARENTS", (str(disk),))
    first, second = Lease("a", 1, False), Lease("b", 1, False)
    ask(first, 0), ask(second, 0)
    with open(disk / "fill", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    with pytest.raises(LeaseRefused) as refused:
        ask(Lease("c", 1, False), 0)
    assert refused.value.reason == (
        f"the ticket for a GPU could not be written in {disk}/jig-gpu: [Errno 28] No space left on device"
    )
    first.release()
    assert ask(second, 0) == ["GPU-0"]
    second.release()
    assert os.listdir(disk / "jig-gpu") == []


MANY = """
import os, sys, time
source, parent, scratch, name, rounds = sys.argv[1:]
sys.path.insert(0, source)
from jig.runner.gpu import lease, lease_files
lease_files.PARENTS = (parent,)
devices = [{"index": n, "uuid": "GPU-%d" % n, "parent": None, "processes": [], "memory_bytes": 9, "free_bytes": 9} for n in range(3)]
look = {"devices": devices, "error": "", "hint": ""}
for turn in range(int(rounds)):
    mine = lease.Lease("%s-%d" % (name, turn), 1 + (turn + int(name)) % 3, False)
    while True:
        said = mine.ask(look)
        if isinstance(said, list):
            break
        time.sleep(0.001)
    for uuid in said:
        os.close(os.open(os.path.join(scratch, uuid), os.O_CREAT | os.O_EXCL))
    time.sleep(0.002)
    for uuid in said:
        os.unlink(os.path.join(scratch, uuid))
    mine.release()
"""


def test_many_runs_at_once_never_have_one_device(lease_place: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", MANY, SOURCE, str(lease_place), str(tmp_path)]
    runs = [subprocess.Popen([*words, str(number), "8"], stderr=subprocess.PIPE) for number in range(6)]
    for run in runs:
        assert run.communicate(timeout=60) == (None, b"")
        assert run.returncode == 0
    assert tickets(lease_place) == []
