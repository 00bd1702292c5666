"""What Linux tells about processes, locks, disks and memory."""

import io
import os
import subprocess
import sys

import pytest

import jig.system
from jig.runner.folder import Home
from jig.system import (
    boot_id,
    carriers,
    descendants,
    end,
    is_network_disk,
    kill,
    lock,
    oom_kills,
    pid_exists,
    put_folder,
)
from tests.conftest import SOURCE, until


def test_a_lock_is_freed_by_the_kernel_when_its_holder_is_killed(tmp_path):
    path = str(tmp_path / "lock")
    code = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    descriptor = os.open(path, os.O_RDWR)
    assert not lock(descriptor, wait=False) and not lock(descriptor, shared=True, wait=False)
    holder.kill()
    holder.communicate()
    assert lock(descriptor, wait=False)
    os.close(descriptor)


def test_a_folder_is_put_in_place_over_an_empty_one_only(tmp_path):
    for name in ("staged", "empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(OSError):
        put_folder(str(tmp_path / "staged"), str(tmp_path / "full"))
    put_folder(str(tmp_path / "staged"), str(tmp_path / "empty"))
    assert not (tmp_path / "staged").exists()


def test_descendants_and_carriers_whatever_they_call_themselves(tmp_path):
    odd = tmp_path / "a) R 1 (b"  # a name that looks like the fields around it in /proc
    os.symlink(sys.executable, odd)
    child = subprocess.Popen(
        [
            str(odd),
            "-c",
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])",
        ],
        env={**os.environ, "JIG_TEST_MARK": "x y"},
    )
    until(lambda: len(descendants(child.pid)) == 1, what="the grandchild")
    (grandchild,) = descendants(child.pid)
    assert {child.pid, grandchild} <= set(descendants(os.getpid()))
    assert carriers("JIG_TEST_MARK", "x y") == sorted([child.pid, grandchild])
    assert carriers("JIG_TEST_MARK", "x") == []
    assert kill(grandchild) and end(child.pid)
    child.wait()
    assert not {child.pid, grandchild} & set(descendants(os.getpid())) and not pid_exists(child.pid)
    assert kill(child.pid)  # gone already: there is nothing left to do


TAKING_IN = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from jig.system import reap
assert reap() is False
if not os.fork():
    time.sleep(0.05)
    os._exit(0)
assert reap() is True
while reap():
    time.sleep(0.01)
print("taken in")
"""


def test_taking_in_children():
    """In a process that has no other ones, as the tests' own may have."""
    said = subprocess.run([sys.executable, "-c", TAKING_IN, SOURCE], capture_output=True, text=True, timeout=30)
    assert said.stdout == "taken in\n", said.stderr


def test_counters_and_names():
    assert oom_kills() >= 0 and len(boot_id()) == 36


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/ada/my\\040scratch rw - xfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/tmp/x", False),
        ("/home/ada/.jig", True),
        ("/home/ada/my scratch/jig", False),
        ("/homes/x", False),
        ("/home", True),
    ],
)
def test_which_disk_a_path_is_on(monkeypatch, path, network):
    monkeypatch.setattr("jig.system.linux.open", lambda *a, **k: io.StringIO(MOUNTS), raising=False)
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    assert is_network_disk(path) is network


def test_locks_stay_on_this_machine_when_the_home_does_not(monkeypatch, tmp_path):
    home = Home(str(tmp_path))
    assert home.local_state() == str(tmp_path) and home.run("a_1").lock(home) == str(tmp_path / "runs/a_1/lock")
    monkeypatch.setattr(jig.system, "is_network_disk", lambda path: True)
    place = home.local_state()
    assert place.startswith("/var/tmp/jig-") and os.stat(place).st_mode & 0o777 == 0o700
    assert home.run("a_1").lock(home) == f"{place}/a_1.lock"
    os.rmdir(place)
