import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jig.runner import rattler_work
from tests.conda_channel import SUBDIR, Channel, ChannelServer, How, index
from tests.conda_package import File, write_package
from tests.mounts import Mounted

MACHINE = {"__glibc": "2.31", "__linux": "5.15", "__unix": "0", "__archspec": "1=x86_64"}
VERSION = ".".join(map(str, sys.version_info[:3]))
Answer = dict[str, Any]


class Work:
    """Requests to rattler_work, each in a process of its own, with one cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"
        self.prefix, self.final = root / "staging" / "env", root / "envs" / "an environment"

    def start(self, request: Answer, *options: str) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-I", *options, rattler_work.__file__]
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdin
        process.stdin.write(json.dumps({"cache": str(self.cache), "platform": SUBDIR, **request}))
        process.stdin.close()
        process.stdin = None
        return process

    def end(self, process: "subprocess.Popen[str]") -> list[Answer]:
        """Every line of the answer, whose last one and the exit code must fit."""
        out, err = process.communicate(timeout=60)
        assert err == ""
        answers: list[Answer] = [json.loads(line) for line in out.splitlines()]
        assert process.returncode == (1 if "error" in answers[-1] else 0)
        return answers

    def solve(self, channels: list[str], *specs: str, **more: Any) -> Answer:
        request = {"do": "solve", "channels": channels, "specs": specs, "virtual": MACHINE, "retries": 0}
        return self.end(self.start({**request, **more}))[-1]

    def chosen(self, channels: list[str], *specs: str, **more: Any) -> list[Answer]:
        records: list[Answer] = self.solve(channels, *specs, **more)["records"]
        return records

    def request(self, records: list[Answer], **more: Any) -> Answer:
        places = {"prefix": str(self.prefix), "final": str(self.final)}
        return {"do": "install", "records": records, "retries": 0, **places, **more}

    def install(self, records: list[Answer], **more: Any) -> list[Answer]:
        return self.end(self.start(self.request(records, **more)))

    def put_in_place(self) -> Path:
        self.final.parent.mkdir()
        return self.prefix.rename(self.final)

    def holds(self, *secrets: str) -> list[str]:
        """The files anywhere below that hold one of these in their text or name."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return [str(f) for f in files if any(s.encode() in f.read_bytes() or s in str(f) for s in secrets)]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def files(records: list[Answer]) -> list[str]:
    return [record["url"].rpartition("/")[2] for record in records]


def run(*argv: "str | Path") -> str:
    return subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.PIPE, text=True).stdout


# Choosing


def test_a_chosen_package_is_plain_data(work: Work, channel: Channel) -> None:
    hello, python = work.chosen([channel.url], "hello", f"python={VERSION}")
    body = channel.package("hello").read_bytes()
    assert hello == {
        "name": "hello",
        "version": "1.0",
        "build": "0",
        "build_number": 0,
        "subdir": "noarch",
        "noarch": "python",
        "depends": ["python"],
        "constrains": [],
        "sha256": hashlib.sha256(body).hexdigest(),
        "size": len(body),
        "url": f"{channel.url}/noarch/hello-1.0-0.conda",
        "channel": channel.url,
    }
    assert (python["name"], python["version"], python["subdir"]) == ("python", VERSION, SUBDIR)
    assert python["python_site_packages_path"].startswith(("lib/", "local/lib/"))


@pytest.mark.parametrize(
    ("spec", "file"),
    [
        ("python=3.5.2", "python-3.5.2-0_cpython.conda"),
        ("python 3.5.2", "python-3.5.2-0_cpython.conda"),
        ("python<3.6", "python-3.5.2-0_cpython.conda"),
        ("python", f"python-{VERSION}-0_cpython.conda"),
        ("tool", "tool-1.0-py36_0.conda"),
        ("tool=1.0=py35_0", "tool-1.0-py35_0.conda"),
        ("tool 1.0 py35_0", "tool-1.0-py35_0.conda"),
        ("tool=1.*", "tool-1.0-py36_0.conda"),
        ("tool[build='*35*']", "tool-1.0-py35_0.conda"),
        ("Old", "old-1.0-0.tar.bz2"),
    ],
)
def test_specifications_mean_what_they_mean_to_conda(work: Work, channel: Channel, spec: str, file: str) -> None:
    assert files(work.chosen([channel.url], spec)) == [file]


@pytest.mark.parametrize(
    ("virtual", "file"),
    [({}, "gpu-1.0-cpu_0"), ({"__cuda": "11.8"}, "gpu-1.0-cpu_0"), ({"__cuda": "12.2"}, "gpu-1.0-cuda_0")],
)
def test_the_build_is_chosen_for_the_machine_that_was_told(
    work: Work, channel: Channel, virtual: Any, file: str
) -> None:
    assert files(work.chosen([channel.url], "gpu", virtual=virtual)) == [file + ".conda"]


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (["left", "right"], "left 1.0 needs zlib 1.2.*, but right 1.0 needs zlib >=1.3"),
        (["meta", "right", "hello"], "left 1.0 needs zlib 1.2.*, but right 1.0 needs zlib >=1.3"),
        (["zlib=1.2", "right"], "the file asks for zlib 1.2.*, but right 1.0 needs zlib >=1.3"),
        (["zlib=1.2", "zlib=1.3"], "the file asks for zlib 1.2.* and also 1.3.*"),
        (["constrained", "right"], "constrained 1.0 only goes with zlib <1.3, but right 1.0 needs zlib >=1.3"),
        (["orphan"], "orphan 1.0 needs nowhere >=2, which no channel has"),
        (["newglibc"], "newglibc 1.0 needs glibc >=2.34, but the machine has glibc 2.31"),
        (["cudaonly"], "cudaonly 1.0 needs CUDA >=12, but the machine has no CUDA"),
        (["gpu=1.0=cuda_0"], "gpu 1.0 needs CUDA >=12, but the machine has no CUDA"),
        (["nosuch", "left"], "no channel has nosuch"),
        (["python=2.7"], f"no channel has python 2.7.* (there is 3.5.2, {VERSION})"),
        (["tool=1.0=py27_0"], "no channel has tool ==1.0 py27_0 (there is 1.0 py35_0, 1.0 py36_0)"),
        (["zlib>>1"], "'zlib>>1' is not a conda package with a version: unable to parse version spec: >>1"),
    ],
)
def test_why_there_is_no_solution_is_one_sentence(
    work: Work, channel: Channel, specs: list[str], sentence: str
) -> None:
    answer = work.solve([channel.url], *specs)
    assert answer["error"] == sentence and answer["detail"].strip()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two channels with packages of the same name."""
    root = tmp_path_factory.mktemp("channels")
    for name, version in (("one", "1.1"), ("two", "2.0")):
        write_package(root / name, "lib", "1.0", {"share/lib": File(name.encode())})
        write_package(root / name, "lib", version, {"share/lib": File(name.encode())})
    write_package(root / "one", "app", "1.0", {"share/app": File()}, depends=["lib >=2"])
    for name in ("one", "two"):
        index(root / name)
    return [(root / name).as_uri() for name in ("one", "two")]


def test_a_package_comes_from_the_first_channel_that_has_it(work: Work, two: list[str]) -> None:
    (lib,) = work.chosen(two, "lib")
    assert (lib["channel"], lib["version"]) == (two[0], "1.1")
    (lib,) = work.chosen([two[1], two[0]], "lib")
    assert (lib["channel"], lib["version"]) == (two[1], "2.0")
    sentence = (
        f"lib 2.0 is only in {two[1]}, and lib is taken from the first channel that has it: "
        f"{two[1]}::lib asks for this one"
    )
    assert work.solve(two, "lib=2.0")["error"] == sentence
    assert work.solve(two, "app")["error"] == sentence


def test_a_package_from_a_channel_that_is_named_with_it(work: Work, two: list[str]) -> None:
    assert [lib["channel"] for lib in work.chosen(two, f"{two[1]}::lib=1.0")] == [two[1]]
    app, lib = work.chosen(two[:1], "app", f"{two[1]}::lib")  # also where no list of channels has it
    assert (app["channel"], lib["channel"], lib["version"]) == (two[0], two[1], "2.0")


def test_what_was_locked_stays(work: Work, two: list[str]) -> None:
    locked = work.chosen(two, "lib=1.0")
    assert work.chosen(two, "lib", locked=locked) == locked
    assert [lib["version"] for lib in work.chosen(two, "lib>1.0", locked=locked)] == ["1.1"]


def test_a_channel_that_cannot_be_used(work: Work, channel: Channel, channel_server: ChannelServer) -> None:
    url, place = channel_server.url, channel_server.url.removeprefix("http://").removesuffix("/chan")
    channel_server.bad = {"": 404}
    assert work.solve([url], "zlib")["error"] == f"there is no conda channel at {url}/ (404)"
    channel_server.bad = {"": 401}
    error = work.solve([url], "zlib")["error"]
    assert error.startswith(f"{url}/") and error.endswith("answers 401 Unauthorized, which means that it wants a login")
    channel_server.bad = {"": How.HANG}
    assert work.solve([url], "zlib", timeout_s=0.5)["error"] == f"no answer within 0.5 s from {url}"
    missing = channel.url + "-of-nobody"
    assert work.solve([missing], "zlib")["error"] == f"there is no conda channel at {missing}/"
    channel_server.close()
    assert work.solve([url], "zlib")["error"] == f"{place} cannot be reached: Connection refused"


def test_a_check_asks_once_and_a_build_asks_again(work: Work, channel_server: ChannelServer) -> None:
    channel_server.bad = {"": 503}
    asked = []
    for retries in (0, 1):
        channel_server.asked.clear()
        assert "answers 503 Service Unavailable" in work.solve([channel_server.url], "zlib", retries=retries)["error"]
        asked.append(max(channel_server.asked.count(path) for path in channel_server.asked))
    assert asked == [1, 2]


@pytest.mark.parametrize("secret", ["login", "token"])
def test_credentials_are_sent_and_never_kept(work: Work, channel_server: ChannelServer, secret: str) -> None:
    url = channel_server.url
    if secret == "login":
        channel_server.login, private = "user:p@ss/word", url.replace("://", "://user:p%40ss%2Fword@")
    else:
        channel_server.token, private = "tk-word-1", url.replace("/chan", "/t/tk-word-1/chan")
    assert "401 Unauthorized" in work.solve([url], "zlib")["error"]
    (zlib,) = work.chosen([private], f"{private}::zlib")
    assert (zlib["url"], zlib["channel"]) == (f"{url}/noarch/zlib-1.3-0.conda", url)
    assert work.install([zlib], channels=[private])[-1] == {"done": {"post_link": []}}
    assert (work.prefix / "share" / "zlib").read_text() == "zlib 1.3 0"
    assert work.holds("p%40ss", "p@ss", "word") == []
    channel_server.bad = {"old-1.0": 404}
    answer = work.install(work.chosen([private], "old"), channels=[private])[-1]
    assert answer["error"].startswith("old-1.0-0.tar.bz2 could not be fetched: http://")
    assert "word" not in json.dumps(answer) and work.holds("word") == []


# Installing


def check_whole(place: Path) -> None:
    """Everything of python, hello and prefixed works where it stands."""
    assert run(place / "bin" / "python", "-c", "import ssl, sqlite3, sys; print(sys.prefix)") == f"{place}\n"
    assert run(place / "bin" / "say-hello") == f"hello from {place}\n"
    assert run(place / "bin" / "python", place / "bin" / "where") == f"{place}\n"
    assert (place / "etc" / "where.txt").read_text() == f"root={place}/share\n"
    parts = (place / "share" / "where.bin").read_bytes().split(b"\0")
    assert [part for part in parts if part] == [b"\x7fBIN", f"{place}/lib:{place}/lib64".encode(), b"after"]


def test_an_environment_works_where_it_was_made_for(work: Work, channel_server: ChannelServer) -> None:
    records = work.chosen([channel_server.url], f"python={VERSION}", "hello", "prefixed", "linker", "old")
    *lines, done = work.install(records)
    assert done == {"done": {"post_link": ["linker"]}}
    check_whole(work.put_in_place())
    assert sorted(os.listdir(work.final)) == ["bin", "conda-meta", "etc", "lib", "share"]
    assert channel_server.packages() == sorted(files(records))
    assert b"staging" not in (work.final / "bin" / "say-hello").read_bytes()

    steps = [line["progress"] for line in lines]
    size = sum(record["size"] for record in records)
    assert {step["of_bytes"] for step in steps} == {size} and {step["of"] for step in steps} == {5}
    loaded = [step for step in steps if step["step"] == "downloading"]
    assert steps[: len(loaded)] == loaded
    amounts = [(step["packages"], step["bytes"]) for step in loaded]
    assert amounts == sorted(amounts) and amounts[-1] == (5, size)
    assert steps[-1] == {"step": "linking", "packages": 5, "of": 5, "bytes": size, "of_bytes": size}


def test_what_is_in_the_cache_is_not_fetched_again(work: Work, channel_server: ChannelServer) -> None:
    records = work.chosen([channel_server.url], "zlib", "old")
    work.install(records)
    *_, last, done = work.install(records, prefix=str(work.root / "second"))
    assert last == {"progress": {"step": "linking", "packages": 2, "of": 2, "bytes": 0, "of_bytes": 0}}
    assert done == {"done": {"post_link": []}}
    (damaged,) = work.cache.glob("pkgs/zlib*/share/zlib")
    damaged.unlink()
    assert work.install(records, prefix=str(work.root / "third"))[-1] == {"done": {"post_link": []}}
    assert (work.root / "third" / "share" / "zlib").read_text() == "zlib 1.3 0"
    assert channel_server.packages() == ["old-1.0-0.tar.bz2", "zlib-1.3-0.conda", "zlib-1.3-0.conda"]


def test_a_python_that_says_3_5_2(work: Work, channel: Channel) -> None:
    work.install(work.chosen([channel.url], "python=3.5.2", "hello"))
    place = work.put_in_place()
    assert run(place / "bin" / "say-hello") == f"hello from {place}\n"
    with open(place / "bin" / "say-hello") as script:
        assert "bin/python3.5" in script.read(400)


@pytest.mark.parametrize("name", ["truncated", "truncatedbz2", "wronghash"])
def test_a_package_that_is_not_what_was_indexed(
    work: Work, channel: Channel, channel_server: ChannelServer, name: str
) -> None:
    path = channel.package(name + "-")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    for url in (channel.url, channel_server.url):
        good, bad = work.chosen([url], "zlib", name)[::-1]
        error = work.install([good, bad])[-1]["error"]
        if url == channel.url or name == "wronghash":
            who = str(path) if url == channel.url else path.name
            assert error == f"{who} is not the file that was asked for: its sha256 is {found}, not {bad['sha256']}"
        else:
            assert error.startswith(f"{path.name} is damaged: ")
        assert not list(work.cache.glob(f"pkgs/{name}*/info/index.json")), "it is in the cache"


def test_a_package_that_does_not_arrive(work: Work, channel_server: ChannelServer) -> None:
    url = f"{channel_server.url}/noarch/zlib-1.3-0.conda"
    records = work.chosen([channel_server.url], "zlib", "old")
    fails = "zlib-1.3-0.conda could not be fetched: "
    for how, stall_s, sentence in (
        (404, 60, f"{fails}{url} answers 404 Not Found"),
        (How.CUT, 60, f"{fails}the connection broke off before the end"),
        (How.HANG, 0.5, f"nothing more has come from {url} for 0.5 s"),
    ):
        channel_server.bad = {"zlib-1.3": how}
        assert work.install(records, stall_s=stall_s)[-1]["error"] == sentence
    channel_server.bad = {}
    assert work.install(records)[-1] == {"done": {"post_link": []}}
    assert (work.prefix / "share" / "zlib").read_text() == "zlib 1.3 0"


def test_packages_that_were_brought_need_no_network(work: Work, channel: Channel) -> None:
    brought = work.root / "brought files"
    brought.mkdir()
    records = work.chosen([channel.url], "zlib", "old")
    for record in records:
        file = files([record])[0]
        (brought / file).write_bytes((channel.folder / "noarch" / file).read_bytes())
        record["url"] = f"http://127.0.0.1:9/chan/noarch/{file}"
    assert work.install(records, brought=str(brought))[-1] == {"done": {"post_link": []}}
    assert (work.prefix / "share" / "old").read_text() == "old 1.0 0"

    (brought / "old-1.0-0.tar.bz2").write_bytes(b"something else")
    error = work.install(records, brought=str(brought))[-1]["error"]
    assert error.startswith(f"{brought}/old-1.0-0.tar.bz2 is not the file that was asked for: its sha256 is ")


def test_a_full_disk(work: Work, channel: Channel, small_disk: Mounted) -> None:
    disk = small_disk("8m")
    records = work.chosen([channel.url], f"python={VERSION}")
    error = f"python-{VERSION}-0_cpython.conda could not be fetched: there is no space left on the disk"
    assert work.install(records, cache=str(disk / "cache"))[-1]["error"] == error
    answer = work.install(records, prefix=str(disk / "env"))[-1]
    assert answer["error"].endswith("there is no space left on the disk")


def test_killed_in_the_middle_and_done_again(work: Work, channel_server: ChannelServer) -> None:
    channel_server.bad = {"python-": How.SLOW}
    records = work.chosen([channel_server.url], f"python={VERSION}", "hello", "prefixed")
    process = work.start(work.request(records))
    assert process.stdout
    while json.loads(process.stdout.readline())["progress"]["bytes"] < records[-1]["size"] / 3:
        pass
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (work.prefix / "bin" / "python").exists()
    channel_server.bad = {}
    assert work.install(records)[-1] == {"done": {"post_link": []}}
    check_whole(work.put_in_place())


def test_two_at_once_fetch_once(work: Work, channel_server: ChannelServer) -> None:
    channel_server.bad = {"python-": How.SLOW}
    records = work.chosen([channel_server.url], f"python={VERSION}", "hello", "prefixed")
    other = Work(work.root / "other")
    other.cache = work.cache
    both = [(each, each.start(each.request(records))) for each in (work, other)]
    for each, process in both:
        *lines, done = each.end(process)
        assert done == {"done": {"post_link": []}}
        last = lines[-1]["progress"]
        assert (last["packages"], last["bytes"]) == (last["of"], last["of_bytes"])
        check_whole(each.put_in_place())
    assert channel_server.packages() == sorted(files(records))


# The process itself


def test_an_interpreter_without_rattler(work: Work, channel: Channel) -> None:
    request = {"do": "solve", "channels": [channel.url], "specs": ["zlib"]}
    (answer,) = work.end(work.start(request, "-S"))
    version = VERSION.rpartition(".")[0]
    assert answer["error"] == f"Python {version} ({sys.executable}) cannot load py-rattler: No module named 'rattler'"
    found = importlib.util.find_spec("rattler")
    assert found and found.origin
    library = str(Path(found.origin).parents[1])
    (answer,) = work.end(work.start({**request, "library": library}, "-S"))
    assert files(answer["records"]) == ["zlib-1.3-0.conda"]


def test_it_ends_when_nobody_listens_any_more(work: Work, channel_server: ChannelServer) -> None:
    channel_server.bad = {"python-": How.SLOW}
    process = work.start(work.request(work.chosen([channel_server.url], f"python={VERSION}")))
    assert process.stdout and process.stderr
    assert channel_server.arrived.wait(20)
    process.stdout.close()
    assert process.wait(20) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_bug_keeps_its_traceback(work: Work) -> None:
    process = work.start({"do": "dance"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (70, "")
    assert err.endswith("KeyError: 'dance'\n")
