"""What a sweep does next."""

from decimal import Decimal

import pytest

from jig.sweep.definition import Objective, Retries, Stop, Sweep
from jig.sweep.policy import Next, Try, best, decide
from jig.sweep.space import Range

SWEEP = Sweep("train.py", (Range("x", Decimal(1), Decimal(4), True, False, Decimal(1)),), objective=Objective("acc"))
NOW = 1000.0


def one(state: str, reason: str = "", ended: float = 0.0, objective: "float | None" = None) -> Try:
    return Try(f"run-{state}", state, reason, ended, objective)


def following(tries, sweep=SWEEP, at_once=2, elapsed_s=0.0) -> Next:
    return decide(sweep, tries, 4, at_once, NOW, elapsed_s)


def test_as_many_begin_as_there_is_room_for():
    assert following({}) == Next((1, 2))
    assert following({1: [one("Running")]}) == Next((2,))
    assert following({1: [one("Running")], 2: [one("Queued")]}) == Next(())
    assert following({1: [one("Running")], 2: [one("Completed")]}, at_once=9) == Next((3, 4))


def test_it_is_done_when_every_point_is():
    done = {point: [one("Completed")] for point in range(1, 5)}
    assert following(done) == Next(done=True)
    assert following({**done, 2: [one("Failed", "exited")]}) == Next(done=True)
    assert following({**done, 2: [one("Preparing")]}) == Next()


@pytest.mark.parametrize(
    "state, reason, on, again",
    [
        ("Lost", "supervisor-gone", ("Lost",), True),
        ("Failed", "out-of-memory", ("out-of-memory",), True),
        ("Failed", "out-of-memory", ("Failed",), True),
        ("Failed", "exited", ("Lost", "killed"), False),
        ("Canceled", "gpu-idle", ("gpu-idle",), True),
        ("Canceled", "canceled", ("Failed", "Lost"), False),
        ("Completed", "exited", ("exited",), False),
    ],
)
def test_what_is_tried_again(state, reason, on, again):
    sweep = SWEEP._replace(retries=Retries(1, on, 30.0))
    tries = {2: [one(state, reason, NOW - 31)]}
    assert (2 in following(tries, sweep, at_once=4).begin) is again
    tries = {2: [one(state, reason, NOW - 29)], **{point: [one("Completed")] for point in (1, 3, 4)}}
    assert following(tries, sweep) == Next(done=not again), "not before its time"


def test_not_more_often_than_told():
    sweep = SWEEP._replace(retries=Retries(2, ("Lost",), 0.0))
    lost = one("Lost")
    assert 1 in following({1: [lost, lost]}, sweep).begin
    assert 1 not in following({1: [lost, lost, lost]}, sweep).begin


def test_stop_rules():
    going = {1: [one("Completed", objective=0.9)], 2: [one("Running")]}
    reached = SWEEP._replace(stop=Stop(objective=0.9))
    assert following(going, reached) == Next((), "the objective is reached: acc 0.9 by run-Completed")
    assert following(going, reached._replace(stop=Stop(objective=0.91))) == Next((3,))
    lower = reached._replace(objective=Objective("acc", "minimize"), stop=Stop(objective=0.9))
    assert following(going, lower).over
    ends = reached._replace(stop=Stop(objective=0.9, running="cancel"))
    assert following(going, ends).end_going and not following(going, ends).done
    assert following({1: going[1]}, ends) == Next((), "the objective is reached: acc 0.9 by run-Completed", done=True)
    timed = SWEEP._replace(stop=Stop(max_time_s=60.0))
    assert following(going, timed, elapsed_s=59.9) == Next((3,))
    assert following(going, timed, elapsed_s=60.0) == Next((), "`max_time` is over: 60 s")
    counted = SWEEP._replace(stop=Stop(max_runs=3))
    assert following({1: going[1]}, counted, at_once=4) == Next((2, 3))
    assert following({1: [one("Lost"), one("Completed")], 2: [one("Completed")]}, counted) == Next(
        (), "`max_runs` is reached: 3", done=True
    )


def test_only_a_completed_run_is_the_best():
    tries = {
        1: [one("Completed", objective=0.5)],
        2: [one("Failed", objective=0.9), one("Completed", objective=0.7)],
        3: [one("Running", objective=0.8)],
        4: [one("Completed", objective=0.7)],
    }
    assert best(SWEEP, tries) == (2, tries[2][1])
    assert best(SWEEP._replace(objective=Objective("acc", "minimize")), tries) == (1, tries[1][0])
    assert best(SWEEP._replace(objective=None), tries) is None
    assert best(SWEEP, {1: [one("Completed")]}) is None
