"""Lines that are there when the call returns: beside threads, forks and kills, on a full disk, and outside a run."""

import json
import os
import signal

import pytest

OUTSIDE = (
    "jig: not in a run, metrics are not kept; "
    "to keep them, run the script with `jig experiment submit -c local SCRIPT`\n"
)


def shown(path):
    """The path as a message shows it: on one line."""
    return str(path).replace("\n", "\\n")


def test_outside_a_run_it_does_nothing_and_says_so_once(script):
    code = """
import jig
jig.log("loss", 0.1)
jig.log(epoch=1)
jig.upload("a.txt", "content")
from azureml.logging import get_azureml_logger
logger = get_azureml_logger()
logger.log("loss", 0.1).wait()
logger.upload("a.txt", "content").wait()
print("done")
"""
    assert script(code, JIG_RUN_DIR="") == "done\n"
    assert script.stderr == OUTSIDE
    assert list(script.outputs.iterdir()) == []
    assert not (script.run_dir / "metrics.jsonl").exists()


@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"])
def test_every_line_is_there_however_the_process_ends(script, ending):
    rc = {"os._exit(0)": 0, "os.abort()": -signal.SIGABRT}.get(ending, -signal.SIGKILL)
    for count in (1, 7, 300):
        (script.run_dir / "metrics.jsonl").unlink(missing_ok=True)
        script(
            "import os, signal, sys, jig\n"
            "for number in range(int(sys.argv[1])): jig.log('n', number, step=number)\n" + ending,
            str(count),
            rc=rc,
        )
        assert [(line["step"], line["values"]) for line in script.metrics()] == [(n, {"n": n}) for n in range(count)]


def test_threads_and_forks_write_whole_lines_into_one_file(script):
    script(
        """
import os, threading, jig
jig.log("who", "before")
children = []
for child in range(4):
    pid = os.fork()
    if not pid:
        def work(thread):
            for number in range(250):
                jig.log("who", [child, thread, number, "x" * (number * 40)])
        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(0)
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
jig.log("who", "after")
"""
    )
    assert script.stderr == ""
    found = [line["who"] for line in script.values()]
    assert found[0] == "before"
    assert found[-1] == "after"
    assert {len(text) - number * 40 for _, _, number, text in found[1:-1]} == {0}
    in_order = {}
    for child, thread, number, _ in found[1:-1]:
        in_order.setdefault((child, thread), []).append(number)
    assert in_order == {(child, thread): list(range(250)) for child in range(4) for thread in range(4)}


def test_each_rank_has_a_file_of_its_own(script):
    for rank in ("0", "", "1", "12", "03", "-1", "two", "²"):
        script("import jig, os; jig.log('rank', os.environ['RANK'])", RANK=rank)
    assert script.values() == [{"rank": rank} for rank in ("0", "", "-1", "two", "²")]
    assert {path.name for path in script.run_dir.glob("metrics*")} == {
        "metrics.jsonl",
        "metrics.1.jsonl",
        "metrics.12.jsonl",
        "metrics.3.jsonl",
    }
    assert script.values("metrics.12.jsonl") == [{"rank": "12"}]


def test_a_forked_child_that_becomes_a_rank_writes_to_its_own_file(script):
    script(
        """
import os, jig
jig.log("who", "parent")
if not os.fork():
    os.environ["RANK"] = "1"
    jig.log("who", "child")
    os._exit(0)
assert os.wait()[1] == 0
jig.log("who", "parent again")
"""
    )
    assert script.values() == [{"who": "parent"}, {"who": "parent again"}]
    assert script.values("metrics.1.jsonl") == [{"who": "child"}]


def test_a_script_that_closes_our_descriptor_and_reuses_its_number_keeps_its_own_file_intact(script):
    script(
        """
import os, jig
jig.log("n", 1)
os.closerange(3, 64)
mine = [os.open("mine%d" % number, os.O_RDWR | os.O_CREAT) for number in range(20)]
for fd in mine: os.write(fd, b"12345")
for fd in mine: os.lseek(fd, 2, os.SEEK_SET)
jig.log("n", 2)
assert [os.read(fd, 9) for fd in mine] == [b"345"] * 20
jig.log("n", 3)
os.closerange(3, 64)
jig.log("n", 4)
"""
    )
    assert script.stderr == ""
    assert script.values() == [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]
    assert [(script.run_dir / "work" / f"mine{number}").read_bytes() for number in range(20)] == [b"12345"] * 20


def test_a_full_disk_is_told_once_and_the_script_goes_on(script):
    (script.run_dir / "metrics.jsonl").symlink_to("/dev/full")
    out = script("import jig\nfor n in range(3): jig.log('n', n)\nprint('went on')")
    assert out == "went on\n"
    assert script.stderr == (
        f"jig: METRICS ARE BEING LOST: {shown(script.run_dir)}/metrics.jsonl: "
        "No space left on device; the script goes on\n"
    )


def test_a_line_that_was_cut_short_is_left_and_the_next_starts_afresh(script):
    out = script(
        """
import resource, signal, jig
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
jig.log("n", 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
jig.log("n", "x" * 500)
jig.log("n", "lost")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
jig.log("n", 2)
jig.log("n", 3)
print("went on")
"""
    )
    assert out == "went on\n"
    first, cut, *rest = (script.run_dir / "metrics.jsonl").read_bytes().splitlines()
    assert json.loads(first)["values"] == {"n": 1}
    assert len(first) + 1 + len(cut) == 100
    assert [json.loads(line)["values"] for line in rest] == [{"n": 2}, {"n": 3}]
    assert script.stderr.count("METRICS ARE BEING LOST") == 1
    assert f"only {len(cut)} of " in script.stderr


def test_a_line_that_another_process_left_cut_is_not_continued(script):
    (script.run_dir / "metrics.jsonl").write_bytes(b'{"time": 1.0, "val')
    script("import jig; jig.log('n', 1); jig.log('n', 2)")
    cut, *rest = (script.run_dir / "metrics.jsonl").read_bytes().splitlines()
    assert cut == b'{"time": 1.0, "val'
    assert [json.loads(line)["values"] for line in rest] == [{"n": 1}, {"n": 2}]


def test_a_run_folder_that_is_gone_is_told_once_and_not_made_again(script):
    gone = script.run_dir / "gone"
    assert (
        script("import jig; jig.log('n', 1); jig.log('n', 2); print('went on')", JIG_RUN_DIR=str(gone)) == "went on\n"
    )
    assert script.stderr == (
        f"jig: METRICS ARE BEING LOST: {shown(gone)}/metrics.jsonl: No such file or directory; the script goes on\n"
    )
    assert not gone.exists()


def test_it_works_again_when_the_disk_does(script):
    out = script(
        """
import os, jig
jig.log("n", 1)
os.mkdir(os.environ["JIG_RUN_DIR"])
jig.log("n", 2)
""",
        JIG_RUN_DIR=str(script.run_dir / "late"),
    )
    assert out == ""
    assert script.values("late/metrics.jsonl") == [{"n": 2}]


@pytest.mark.parametrize("missing", ["sys.stderr = None", "sys.stderr.close()", "os.close(2)"])
def test_a_missing_stderr_hurts_no_one(script, missing):
    code = (
        "import os, sys, jig\n"
        + missing
        + "\njig.log('n', None)\njig.log('n', 1)\nprint('went on')\nos._exit(sys.stdout.flush() or 0)"
    )
    assert script(code) == "went on\n"
    assert script.values() == [{"n": "None"}, {"n": 1}]


def test_a_signal_handler_may_log_in_the_middle_of_a_call(script):
    script(
        """
import signal, jig
jig.log("from", 0)
signal.signal(signal.SIGALRM, lambda *_: jig.log("from", "handler"))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for number in range(1, 20000): jig.log("from", number)
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    )
    found = [line["from"] for line in script.values()]
    assert [number for number in found if number != "handler"] == list(range(20000))
    assert "handler" in found


def test_nothing_runs_beside_the_script_or_at_its_end(script):
    code = """
import atexit, threading, jig
before = atexit._ncallbacks()
jig.log("n", 1)
jig.upload("a.txt", "a")
print(atexit._ncallbacks() - before, threading.active_count())
"""
    assert script(code) == "0 1\n"


def test_the_file_is_not_handed_to_other_programs(script):
    code = """
import os, subprocess, sys, jig
jig.log("n", 1)
fd = jig._log.__globals__["_file"]._opened[0]
print(os.get_inheritable(fd))
"""
    assert script(code) == "False\n"
    assert os.stat(script.run_dir / "metrics.jsonl").st_mode & 0o111 == 0


def test_workers_that_are_started_anew_write_into_the_same_file(script):
    """As the workers of a data loader are on systems that do not fork, and as they end: without a goodbye."""
    script(
        """
import multiprocessing, os, jig
if __name__ == "__main__":
    jig.log("n", 0)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=jig.log, args=("n", number)) for number in (1, 2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    jig.log("n", 3)
    os._exit(0)
"""
    )
    assert sorted(line["n"] for line in script.values()) == [0, 1, 2, 3]
    assert script.values()[0] == {"n": 0}
    assert script.values()[-1] == {"n": 3}


def test_too_many_open_files(script):
    """The first call has to load what it needs, and cannot: it is told once, and the next that can is kept."""
    code = """
import os, resource, sys, jig
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
for number in range(3):
    jig.log("loss", number)
jig.params(lr=1)
jig.tag("a")
jig.log_image("image", [[1]])
jig.log_table("table", [{"a": 1}])
jig.upload("a.txt", "content")
for descriptor in held:
    os.close(descriptor)
jig.log("loss", 3)
print("done")
"""
    assert script(code) == "done\n"
    assert script.values() == [{"loss": 3}]
    assert script.stderr.startswith("jig: METRICS ARE BEING LOST: ") and script.stderr.count("\n") == 1, script.stderr
