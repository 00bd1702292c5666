"""Leases of two users of one machine, each a real one to the kernel."""

import os
import signal
import stat
from pathlib import Path

from jig.runner.gpu.lease_ticket import user_name
from tests.gpu.lease_rig import Start, device, process

ADA, BOB = 41001, 41002


def test_two_users_stand_in_one_line(lease_place: Path, start_run: Start) -> None:
    ada, bob, again = (
        start_run("a", user=ADA, umask=0o077),
        start_run("b", 2, user=BOB, umask=0o077),
        start_run("c", user=ADA),
    )
    assert ada.ask(0, 1) == ["GPU-0"]
    assert _without_times(bob.ask(0, 1)) == [
        f"1 of the 2 GPUs wanted is free; GPU 0 is held by run a of {user_name(ADA)}", 1, 1,
    ]  # fmt: skip
    assert _without_times(again.ask(0, 1)) == [
        f"run b of {user_name(BOB)} asked before, at …, and waits for 2 GPUs; GPU 0 is held by run a of {user_name(ADA)}",
        2,
        2,
    ]
    seen = [(one["run"], one["user"], one["waiting"]) for one in bob.holders()]
    assert seen == [("a", user_name(ADA), False), ("b", user_name(BOB), True), ("c", user_name(ADA), True)]
    ada.release()
    assert bob.ask(0, 1) == ["GPU-0", "GPU-1"]
    bob.release()
    assert again.ask(0, 1) == ["GPU-0"]
    folder = (lease_place / "jig-gpu").stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (ADA, 0o1777)


def test_a_dead_run_of_another_user_holds_nothing_and_its_ticket_goes_when_that_user_comes_again(
    lease_place: Path, start_run: Start
) -> None:
    folder = lease_place / "jig-gpu"
    folder.mkdir()
    folder.chmod(0o1777)
    ada, bob = start_run("a", user=ADA), start_run("b", user=BOB)
    assert ada.ask(0) == ["GPU-0"]
    guard = ada.start_guard()
    ada.kill()
    assert _without_times(bob.ask(0)) == [f"GPU 0 is held by run a of {user_name(ADA)}", 1, 1]
    os.kill(guard, signal.SIGKILL)
    while (answer := bob.ask(0)) != ["GPU-0"]:
        assert answer[1:] == [1, 1]
    assert sorted(os.listdir(folder)) == ["1", "2"]
    assert start_run("c", user=ADA).ask(0)[1:] == [1, 1]
    assert sorted(os.listdir(folder)) == ["2", "3"]


def test_another_user_s_process_counts_as_taken(start_run: Start) -> None:
    busy = device(0, processes=[process("bob", "python3", 70)])
    ada = start_run("a", user=ADA)
    assert ada.ask(busy) == ["GPU 0 is in use by a process of bob (python3, 70.0 GiB)", 1, 1]
    assert ada.ask(busy, 1) == ["GPU-1"]
    assert start_run("b", user=BOB, shared=True).ask(busy, 1) == ["GPU-0"]


def test_a_folder_that_another_user_made_for_itself_is_not_used(lease_place: Path, start_run: Start) -> None:
    folder = lease_place / "jig-gpu"
    folder.mkdir(mode=0o700)
    os.chown(folder, BOB, BOB)
    hint = f"an administrator can remove it, and the next run makes it anew: rm -r {folder}"
    assert start_run("a", user=ADA).ask(0) == {
        "reason": f"GPUs cannot be shared out: {folder} is a folder that belongs to {user_name(BOB)} and is closed to others",
        "hint": hint,
    }
    folder.chmod(0o777)
    assert start_run("a", user=ADA).ask(0) == {
        "reason": f"GPUs cannot be shared out: {folder}, which belongs to {user_name(BOB)}, has the mode 777 and not 1777",
        "hint": f"its owner or an administrator can put that right: chmod 1777 {folder}",
    }
    assert start_run("b", user=BOB).ask(0) == ["GPU-0"]
    assert start_run("a", user=ADA).ask(0)[1:] == [1, 1]


def test_a_scheduler_s_devices_are_lines_of_their_own(start_run: Start) -> None:
    ada, bob, again = (
        start_run("a", user=ADA, visible="0"),
        start_run("b", user=BOB, visible="1"),
        start_run("c", user=ADA, visible="0"),
    )
    assert ada.ask(0, 1) == ["GPU-0"]
    assert again.ask(0, 1)[1:] == [1, 1]
    assert bob.ask(0, 1) == ["GPU-1"]


def _without_times(said: list[object]) -> list[object]:
    words = str(said[0]).split(" ")
    words = ["…," if one.endswith(",") and ":" in one else one for one in words]
    return [" ".join(words).split(" since ")[0], *said[1:]]
