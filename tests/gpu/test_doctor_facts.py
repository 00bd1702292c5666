"""Questions at once, each in a child with a limit of time; and frameworks told by their files."""

import os
import subprocess
import sys
import time

import pytest

from jig.runner import at_once, builds
from tests.conftest import alive, until


def test_all_at_once():
    began = time.monotonic()
    slow = {str(number): (5.0, lambda number=number: time.sleep(0.3) or number) for number in range(5)}
    assert at_once.ask(slow) == ({str(number): number for number in range(5)}, {}, {})
    assert time.monotonic() - began < 1.2


def test_a_large_answer():
    assert at_once.ask({"large": (5.0, lambda: "x" * 1_000_000)}) == ({"large": "x" * 1_000_000}, {}, {})


def test_what_hangs_hangs_alone():
    """It is killed with what it started, and the others have answered."""
    marker = f"jig-test-hangs-{os.getpid()}"

    def hang() -> None:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)", marker])

    began = time.monotonic()
    answers, late, failed = at_once.ask({"hangs": (0.5, hang), "well": (5.0, lambda: {"a": [1, None]})})
    assert (answers, late, failed) == ({"well": {"a": [1, None]}}, {"hangs": 0.5}, {})
    assert time.monotonic() - began < 2
    until(lambda: not alive(marker), 5, "the end of what it started")


def test_what_is_left_behind_does_not_keep_us():
    """An answer counts when it is whole, whoever else still holds the pipe."""

    def leave() -> int:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        return 7

    began = time.monotonic()
    assert at_once.ask({"leaves": (10.0, leave)}) == ({"leaves": 7}, {}, {})
    assert time.monotonic() - began < 5


def test_a_question_that_fails():
    with pytest.raises(RuntimeError, match=r"the question bad failed: (.|\n)*ZeroDivisionError"):
        at_once.ask({"bad": (5.0, lambda: 1 // 0), "slow": (5.0, lambda: time.sleep(60))})
    with pytest.raises(RuntimeError, match="the question ends failed: it ended without an answer"):
        at_once.ask({"ends": (5.0, lambda: os._exit(3))})


def test_what_the_system_refuses_fails_alone():
    def refused() -> None:
        raise OSError(5, "Input/output error", "/there")

    def full() -> None:
        raise MemoryError

    questions = {"refused": refused, "full": full, "well": lambda: 1}
    for number in (9, 15):
        questions[f"killed by {number}"] = lambda number=number: os.kill(os.getpid(), number)
    answers, late, failed = at_once.ask({name: (5.0, question) for name, question in questions.items()})
    assert (answers, late) == ({"well": 1}, {})
    assert failed == {
        "refused": "[Errno 5] Input/output error: '/there'",
        "full": "memory ran out",
        "killed by 9": "it was killed, as the system does when memory runs out",
        "killed by 15": "it was killed by signal 15",
    }


def test_where_children_are_not_waited_for():
    """Whoever started us may ignore its children's ends."""
    program = "from jig.runner import at_once; print(at_once.ask({'a': (5.0, lambda: 1)}))"
    script = f'import signal, os, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, [sys.executable, "-c", "{program}"])'
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, env=_environ())
    assert (done.stdout, done.returncode) == ("({'a': 1}, {}, {})\n", 0), done.stderr


def _environ() -> "dict[str, str]":
    import jig

    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(jig.__file__))}


# Frameworks


def installed(folder, **files: str) -> "list[dict[str, object]]":
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return builds.look([str(folder), "relative", str(folder / "absent")], str(folder))["builds"]


def build(name: str, version: str, cuda: "str | None", arches: "tuple[str, ...]" = ()) -> "dict[str, object]":
    return {"name": name, "version": version, "cuda": cuda, "arches": list(arches)}


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("cuda: Optional[str] = '12.6'\nhip: Optional[str] = None\n", "12.6"),
        ('__version__ = "1.4"\ncuda = "10.1"\n', "10.1"),
        ("debug = False\ncuda: Optional[str] = None\n", ""),
        ("cuda = None\n", ""),
        ("", None),
    ],
)
def test_torch(tmp_path, text, cuda):
    files = {"torch-2.6.0.dist-info/METADATA": "", "torch/version.py": text}
    assert installed(tmp_path, **files) == [build("torch", "2.6.0", cuda)]


def test_torch_tells_its_gpus(tmp_path):
    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "torch/lib/libtorch_python.so").write_bytes(
        b"\0compute_75 is named\0sm_%d\0sm_80 sm_90\n\0" + b"sm_75 sm_90a sm_120 compute_120\0" + bytes(10)
    )
    files = {"torch-2.9.0+cu128.dist-info/METADATA": "", "torch/version.py": "cuda = '12.8'"}
    arches = ("sm_75", "sm_90a", "sm_120", "compute_120")
    assert installed(tmp_path, **files) == [build("torch", "2.9.0+cu128", "12.8", arches)]


TENSORFLOW = """
build_info = collections.OrderedDict([('cpu_compiler', '/usr/lib/llvm-18/bin/clang'), ('cuda_compute_capabilities',
['sm_60', 'sm_70', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', {}),
('is_rocm_build', False)])
"""


def test_tensorflow(tmp_path):
    place = "tensorflow/python/platform/build_info.py"
    files = {"tensorflow-2.18.0.dist-info/METADATA": "", place: TENSORFLOW.format(True)}
    arches = ("sm_60", "sm_70", "compute_90")
    assert installed(tmp_path, **files) == [build("tensorflow", "2.18.0", "12.5.1", arches)]
    assert installed(tmp_path, **{place: TENSORFLOW.format(False)}) == [build("tensorflow", "2.18.0", "")]


def test_jax_and_cupy(tmp_path):
    files = {"jaxlib-0.6.0.dist-info/METADATA": "", "cupy_cuda12x-13.4.0.dist-info/METADATA": ""}
    cupy = build("cupy", "13.4.0", "12.0")
    assert installed(tmp_path, **files) == [build("jax", "0.6.0", ""), cupy]
    assert installed(tmp_path, **{"jax_cuda12_plugin-0.6.0.dist-info/METADATA": ""}) == [
        build("jax", "0.6.0", "12.0"),
        cupy,
    ]


def test_of_two_the_one_that_is_imported(tmp_path):
    for folder, version in (("first", "2.6.0"), ("second", "2.5.0")):
        (tmp_path / folder / f"torch-{version}-py3.11.egg-info").mkdir(parents=True)
    found = builds.look([str(tmp_path / "first"), str(tmp_path / "second")], str(tmp_path))
    assert [one["version"] for one in found["builds"]] == ["2.6.0"]
