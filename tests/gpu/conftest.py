"""What tests of GPUs share."""

import os
import pickle

import pytest

from tests.gpu.lease_rig import lease_place, start_run  # noqa: F401


@pytest.fixture
def in_child():
    """in_child(function) → what it returns or raises in a process of its own: a loaded library stays loaded."""

    def run(function):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                try:
                    said = function(), None
                except BaseException as error:
                    said = None, error
                with os.fdopen(writing, "wb") as file:
                    pickle.dump(said, file)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            value, error = pickle.load(file)
        os.waitpid(child, 0)
        if error is not None:
            raise error
        return value

    return run
