"""Who gets which devices: examples of each rule, and laws that hold for whatever runs do."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.runner.gpu.lease import variables
from jig.runner.gpu.lease_rules import before, candidates, choose, clock, rivals, why_waiting
from jig.runner.gpu.lease_ticket import Ticket, parse, user_name
from tests.gpu.lease_rig import device, process

NOON = time.mktime((2024, 5, 17, 12, 1, 0, 0, 0, -1))


def ticket(
    number: int, want: int = 1, among: tuple[int, ...] = (0, 1), held: tuple[int, ...] = (), **more: Any
) -> Ticket:
    names = ([f"GPU-{index}" for index in group] for group in (among, held))
    return Ticket(number, f"run-{number}", 0, 100 + number, want, *names, NOON, **more)


TWO = [device(0), device(1)]
MIG = [device(0, f"MIG-{part}", parent="GPU-0") for part in "ab"] + [device(1)]


@pytest.mark.parametrize(
    ("devices", "visible", "left"),
    [
        (TWO, None, ["GPU-0", "GPU-1"]),
        (TWO, "1", ["GPU-1"]),
        (TWO, "1, 0", ["GPU-1", "GPU-0"]),
        (TWO, "0,7,1", ["GPU-0"]),
        (TWO, "GPU-1", ["GPU-1"]),
        (TWO, "", []),
        (TWO, "-1", []),
        (TWO, "NoDevFiles", []),
        (TWO, "0,0", ["GPU-0"]),
        (MIG, "MIG-b", ["MIG-b"]),
        (MIG, "GPU-0", ["MIG-a", "MIG-b"]),
        (MIG, "0", ["MIG-a", "MIG-b"]),
    ],
)
def test_an_administrator_s_choice_is_kept(devices: Any, visible: str | None, left: list[str]) -> None:
    assert [one["uuid"] for one in candidates(devices, visible)] == left


@pytest.mark.parametrize(
    ("mine", "others", "devices", "shared", "got"),
    [
        pytest.param(ticket(1), [], TWO, False, ["GPU-0"], id="the first that is free"),
        pytest.param(ticket(1, want=2), [], TWO, False, ["GPU-0", "GPU-1"], id="several at once"),
        pytest.param(ticket(2), [ticket(1, held=(0,))], TWO, False, ["GPU-1"], id="not a held one"),
        pytest.param(ticket(2, want=2), [ticket(1, held=(0,))], TWO, False, [], id="all or none"),
        pytest.param(ticket(2), [ticket(1, want=2)], TWO, False, [], id="who came first is served first"),
        pytest.param(ticket(1), [ticket(2)], TWO, False, ["GPU-0"], id="who came later does not count"),
        pytest.param(ticket(2), [ticket(1, asleep=True)], TWO, False, ["GPU-0"], id="who does not ask any more is passed"),
        pytest.param(ticket(2, among=(1,)), [ticket(1, among=(0,))], TWO[1:], False, ["GPU-1"], id="devices of one's own"),
        pytest.param(ticket(2), [ticket(1, held=(7,))], TWO, False, ["GPU-0"], id="a device of another machine"),
        pytest.param(ticket(2), [ticket(1, held=(0,))], MIG, False, ["GPU-1"], id="a part of a card that is held"),
        pytest.param(ticket(1), [], [device(0, processes=[process("bob")]), device(1)], False, ["GPU-1"], id="foreign"),
        pytest.param(ticket(1), [], [device(0, processes=[process("bob")]), device(1)], True, ["GPU-1"], id="free first"),
        pytest.param(ticket(1), [], [device(0, processes=[process("bob")])], True, ["GPU-0"], id="shared"),
        pytest.param(ticket(2), [ticket(1, held=(0,))], [device(0)], True, [], id="a lease is not shared"),
        pytest.param(ticket(1), [], [device(0, processes=[process("bob", run="run-9")])], False, [], id="a run without lease"),
        pytest.param(ticket(1), [], [device(0, processes=[process("ada", run="run-1")])], False, ["GPU-0"], id="our own"),
        pytest.param(ticket(1), [], [device(0, processes=[process("gdm", "Xorg")])], False, ["GPU-0"], id="a screen"),
        pytest.param(ticket(1), [], [device(0, processes=None)], False, ["GPU-0"], id="hidden, little memory in use"),
        pytest.param(ticket(1), [], [device(0, processes=None, free_bytes=137 << 30)], False, [], id="hidden, memory in use"),
        pytest.param(ticket(1), [], [device(0, processes=None, free_bytes=137 << 30)], True, ["GPU-0"], id="hidden, shared"),
        pytest.param(ticket(1), [], [device(0, processes=None, free_bytes=None)], False, ["GPU-0"], id="nothing is known"),
    ],
)  # fmt: skip
def test_who_gets_what(mine: Ticket, others: list[Ticket], devices: Any, shared: bool, got: list[str]) -> None:
    assert choose(mine, others, devices, shared) == got


FULL = device(1, processes=[process("bob", gib=8.1)])


@pytest.mark.parametrize(
    ("mine", "others", "devices", "words"),
    [
        (
            ticket(2),
            [ticket(1, held=(0,))],
            [device(0), FULL],
            "GPU 0 is held by run run-1 of root since 2024-05-17 12:01; GPU 1 is in use by a process of bob (python, 8.1 GiB)",
        ),
        (
            ticket(2, want=2),
            [ticket(1, held=(0,))],
            TWO,
            "1 of the 2 GPUs wanted is free; GPU 0 is held by run run-1 of root since 2024-05-17 12:01",
        ),
        (
            ticket(3),
            [ticket(1, held=(0,)), ticket(2, want=2)],
            TWO,
            "run run-2 of root asked before, at 2024-05-17 12:01, and waits for 2 GPUs; "
            "GPU 0 is held by run run-1 of root since 2024-05-17 12:01",
        ),
        (
            ticket(2),
            [ticket(1, held=(0, 1))],
            TWO,
            "GPUs 0 and 1 are held by run run-1 of root since 2024-05-17 12:01",
        ),
        (
            ticket(1),
            [],
            [device(0, processes=[process("bob", "a\x1b[2Jb", 1), process("", "", None), process("ada", "julia", 2)])],
            "GPU 0 is in use by 3 processes of ada, bob and somebody (a?[2Jb, julia, 3.0 GiB)",
        ),
        (
            ticket(1),
            [],
            [device(0, processes=[process("bob", run="run-8"), process("bob", run="run-8")])],
            "GPU 0 is in use by run run-8 of bob (python)",
        ),
        (
            ticket(1),
            [],
            [device(0, processes=None, free_bytes=100 << 30)],
            "GPU 0 is in use: 40.0 GiB by processes that are hidden here",
        ),
        (
            ticket(1),
            [],
            [device(3, "MIG-a", parent="GPU-3", processes=[process("bob")])],
            "GPU MIG-a is in use by a process of bob (python)",
        ),
    ],
)
def test_who_waits_is_told_who_has_what(mine: Ticket, others: list[Ticket], devices: Any, words: str) -> None:
    assert why_waiting(mine, others, devices, False) == words


def test_a_time_of_today_is_told_without_the_day() -> None:
    now = time.time()
    assert clock(now) == time.strftime("%H:%M", time.localtime(now))


def test_the_place_in_line_counts_who_wants_the_same_devices() -> None:
    line = [ticket(1), ticket(2, among=(5,)), ticket(3, held=(1,)), ticket(4), ticket(6), ticket(7, asleep=True)]
    assert [one.number for one in before(ticket(5), line)] == [1, 4]
    assert [one.number for one in rivals(ticket(5), line)] == [1, 4, 6]


def test_a_framework_is_told_indices_and_uuids_of_parts() -> None:
    assert variables([device(2), device(0)]) == {"CUDA_VISIBLE_DEVICES": "2,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert variables(MIG[:1]) == {"CUDA_VISIBLE_DEVICES": "MIG-a", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


GOOD = b'{"run": "r", "pid": 1, "want": 1, "among": ["GPU-0"], "uuids": [], "since": 5}  \n'


def test_a_ticket_s_user_is_the_file_s_owner() -> None:
    read = parse(7, 41001, GOOD.replace(b"{", b'{"user": "root", '))
    assert read is not None
    assert (read.number, read.run, read.uid, read.pid, read.want) == (7, "r", 41001, 1, 1)
    assert (read.among, read.uuids, read.since, read.waits) == (["GPU-0"], [], 5.0, True)
    assert read.user == user_name(41001)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"[" * 60000,
        b"[]",
        b"{}",
        GOOD.replace(b'"r"', b'"../r"'),
        GOOD.replace(b'"r"', b'"r\\u001b"'),
        GOOD.replace(b'"want": 1', b'"want": 0'),
        GOOD.replace(b'"want": 1', b'"want": true'),
        GOOD.replace(b'"want": 1', b'"want": "1"'),
        GOOD.replace(b'"pid": 1', b'"pid": null'),
        GOOD.replace(b'["GPU-0"]', b'"GPU-0"'),
        GOOD.replace(b'["GPU-0"]', b'["GPU\\u001b"]'),
        GOOD.replace(b"[]", b"[7]"),
        GOOD.replace(b"5}", b"1e300}"),
        GOOD.replace(b"5}", b"NaN}"),
        GOOD.replace(b"5}", b"null}"),
    ],
)
def test_what_no_run_has_written_is_no_ticket(text: bytes) -> None:
    assert parse(7, 0, text) is None


class Machine:
    """Tickets and devices without files: runs come, ask and end in any order."""

    def __init__(self, foreign: list[bool]) -> None:
        self.devices = [device(index, processes=[process("bob")] * here) for index, here in enumerate(foreign)]
        self.tickets: list[Ticket] = []
        self.shared: set[int] = set()
        self.served: list[int] = []
        self.last = 0

    def come(self, want: int, among: set[int], shared: bool) -> None:
        among = {index % len(self.devices) for index in among}
        self.last += 1
        self.tickets.append(ticket(self.last, min(want, len(among)), tuple(sorted(among))))
        if shared:
            self.shared.add(self.last)

    def ask(self, mine: Ticket) -> None:
        if mine.uuids:
            return
        line = [one for one in self.tickets if one.waits and one.number < mine.number]
        mine.uuids = choose(mine, self.tickets, self._candidates(mine), mine.number in self.shared)
        if not mine.uuids:
            return
        self.served.append(mine.number)
        assert len(set(mine.uuids)) == mine.want, "all or none"
        assert set(mine.uuids) <= set(mine.among), "of those that it may have"
        assert all(not set(mine.uuids) & set(earlier.among) for earlier in line), "in order"
        taken = [uuid for one in self.tickets for uuid in one.uuids]
        assert len(taken) == len(set(taken)), "never two holders"
        free = {one["uuid"] for one in self.devices if not one["processes"]}
        assert mine.number in self.shared or set(mine.uuids) <= free, "nobody is disturbed"

    def _candidates(self, mine: Ticket) -> list[dict[str, Any]]:
        return [one for one in self.devices if one["uuid"] in mine.among]


WISH = st.tuples(st.just("come"), st.integers(1, 4), st.sets(st.integers(0, 3), min_size=1), st.booleans())
STEPS = st.lists(st.one_of(WISH, st.tuples(st.sampled_from(("ask", "end")), st.integers(0, 9))), max_size=60)


@given(st.lists(st.booleans(), min_size=1, max_size=4), STEPS)
def test_laws(foreign: list[bool], steps: list[Any]) -> None:
    machine = Machine(foreign)
    for verb, *given_ in steps:
        if verb == "come":
            machine.come(*given_)
        elif machine.tickets:
            one = machine.tickets[given_[0] % len(machine.tickets)]
            if verb == "ask":
                machine.ask(one)
            else:
                machine.tickets.remove(one)
    # Nobody waits for ever: when the foreign processes are gone and runs end, every run is served.
    for one in machine.devices:
        one["processes"] = []
    for _ in range(len(machine.tickets) + 1):
        for one in machine.tickets:
            machine.ask(one)
        machine.tickets = [one for one in machine.tickets if one.waits]
    assert machine.tickets == []


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=12))
def test_runs_that_may_have_all_devices_start_in_the_order_of_coming(wishes: list[tuple[int, bool]]) -> None:
    machine = Machine([False] * 3)
    for want, shared in wishes:
        machine.come(want, {0, 1, 2}, shared)
    while any(one.waits for one in machine.tickets):
        for one in reversed(machine.tickets):
            machine.ask(one)
        machine.tickets = [one for one in machine.tickets if one.waits]
    assert machine.served == list(range(1, len(wishes) + 1))
