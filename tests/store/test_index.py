"""The index when several commands open a new home at the same moment."""

import multiprocessing

from jig.runner.folder import Home
from jig.store.index import Index

ROUNDS, AT_ONCE = 12, 4


def _open(path, barrier, told):
    barrier.wait()
    Index(Home(path), told.put)


def test_a_new_home_is_opened_by_several_at_once(tmp_path):
    spawned = multiprocessing.get_context("fork")
    for number in range(ROUNDS):
        home = tmp_path / str(number)
        home.mkdir()
        barrier, told = spawned.Barrier(AT_ONCE), spawned.SimpleQueue()
        several = [spawned.Process(target=_open, args=(str(home), barrier, told)) for _ in range(AT_ONCE)]
        for process in several:
            process.start()
        for process in several:
            process.join()
        assert [process.exitcode for process in several] == [0] * AT_ONCE
        assert told.empty(), told.get()
