"""The lock beside a conda file: what is in it, what stays out of it, and when it is used."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.environments import Environment, decide, lock, lock_pip, without_secrets
from jig.environments.lock import Lock, make, read, write
from jig.environments.lock_secrets import Secrets
from jig.errors import PackagesError
from jig.project import ComputeTarget, CondaSpec, Requirement
from tests.conda_channel import SUBDIR, Channel
from tests.runner.wheels import Index, make_wheel, serve

TARGET = ComputeTarget("local", "local", user_managed_environment=False)
MACHINE = {"__glibc": "2.31", "__linux": "6.1", "__unix": "0"}
pytestmark = pytest.mark.usefixtures("no_settings")
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def index(tmp_path, monkeypatch) -> "Iterator[Index]":
    """`six` 1.15 and 1.16, and what needs it, from the index that PIP_INDEX_URL names."""
    folder = tmp_path / "wheels"
    make_wheel(folder, "six", "1.15")
    make_wheel(folder, "six", "1.16")
    make_wheel(folder, "mixed", "1.0", requires=("six ; sys_platform == 'win32'", "old ; python_version < '3.6'"))
    make_wheel(folder, "old", "1.0")
    make_wheel(folder, "caller", "1.0", requires=("hello", "six"))
    make_wheel(folder, "caller", "2.0", requires=("hello>=2", "six"))
    with serve(folder) as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found


def environment(packages=(), pip=(), channels=(), root="") -> Environment:
    lines = [tuple(Requirement(text, at) for at, text in enumerate(texts)) for texts in (packages, pip)]
    return decide(TARGET, CondaSpec("c.yml", "x", tuple(channels), *lines), True, root)


def hashed(line: str, *files: Path) -> str:
    found = (f" --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)
    return line + "".join(found)


class Made:
    """Locks, one after the other; what was said and warned of while they were made."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.warned: list[str] = []

    def lock(self, wanted: Environment, before: "Lock | None" = None, platform: str = SUBDIR, **more) -> Lock:
        return make(wanted, platform, MACHINE, before, self.said.append, self.warned.append, **more)


@pytest.fixture
def made() -> Made:
    return Made()


def names(lock: Lock, platform: str = SUBDIR) -> "list[str]":
    return [f"{record['name']} {record['version']}" for record in lock.conda[platform]["records"]]


# What is written and read

TEXTS = st.text(max_size=12)
RECORDS = st.fixed_dictionaries(
    {**dict.fromkeys(("name", "version", "build", "subdir", "url"), TEXTS), "sha256": st.just("a1" * 32)},
    optional={"depends": st.lists(TEXTS, max_size=3), "size": st.integers(0), "noarch": st.just("python")},
)
PARTS = st.fixed_dictionaries(
    {"virtual": st.dictionaries(TEXTS, TEXTS, max_size=3), "records": st.lists(RECORDS, max_size=3)}
)
LOCKS = st.builds(
    Lock, TEXTS, st.lists(TEXTS, max_size=3).map(tuple), st.dictionaries(TEXTS, PARTS, max_size=3)
)  # fmt: skip


@given(LOCKS)
def test_what_is_written_is_read(tmp_path_factory, written):
    place = tmp_path_factory.getbasetemp() / "law.lock.json"
    write(str(place), written)
    found = read(str(place))
    assert found == written
    assert found is not None and found.digest == written.digest


def test_the_file_has_a_line_for_each_package(tmp_path):
    record = {"name": "zlib", "version": "1.3", "build": "0", "subdir": "noarch", "url": "u", "sha256": "s"}
    place = tmp_path / "c.lock.json"
    parts = {"linux-64": {"virtual": {"__glibc": "2.31"}, "records": [record, record]}}
    write(str(place), Lock("m", ("a==1", "b==2"), {**parts, "osx-arm64": {"virtual": {}, "records": []}}))
    row = json.dumps(record)
    assert place.read_text() == (
        f'{{\n "format": 1,\n "for": "m",\n "pip": [\n  "a==1",\n  "b==2"\n ],\n "conda": {{\n  "linux-64": {{\n'
        f'   "virtual": {{"__glibc": "2.31"}},\n   "records": [\n    {row},\n    {row}\n   ]\n  }},\n'
        '  "osx-arm64": {\n   "virtual": {},\n   "records": [\n   ]\n  }\n }\n}\n'
    )
    assert os.listdir(tmp_path) == ["c.lock.json"]


def test_a_lock_that_cannot_be_written_leaves_the_old_one(tmp_path):
    place = tmp_path / "c.lock.json"
    place.write_text("old")
    with pytest.raises(TypeError):
        write(str(place), Lock("m", (object(),), {}))
    assert (place.read_text(), os.listdir(tmp_path)) == ("old", ["c.lock.json"])


WHOLE = {"format": 1, "for": "x", "pip": [], "conda": {}}
RECORD = {"name": "a", "version": "1", "build": "0", "subdir": "noarch", "url": "u", "sha256": "../../s"}


def part(**record):
    return {"linux-64": {"virtual": {}, "records": [record]}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("<<<<<<< ours", "Expecting value: line 1 column 1 (char 0)"),
        ("[]", "list indices must be integers or slices, not str"),
        ("{}", "'format' is missing"),
        (json.dumps({**WHOLE, "format": 2}), "its format is 2"),
        (json.dumps({**WHOLE, "pip": [1]}), "a part of it is no text"),
        (json.dumps({**WHOLE, "pip": None}), "'NoneType' object is not iterable"),
        (json.dumps({**WHOLE, "conda": []}), "'list' object has no attribute 'values'"),
        (json.dumps({**WHOLE, "conda": {"linux-64": {"virtual": {}}}}), "'records' is missing"),
        (json.dumps({**WHOLE, "conda": part(name="a")}), "'version' is missing"),
        (json.dumps({**WHOLE, "conda": part(**{**RECORD, "url": None})}), "a part of it is no text"),
        (json.dumps({**WHOLE, "conda": part(**RECORD)}), "'../../s' is not a SHA-256"),
    ],
)
def test_a_file_that_is_no_lock(tmp_path, text, why):
    place = tmp_path / "c.lock.json"
    place.write_text(text)
    with pytest.raises(PackagesError) as raised:
        read(str(place))
    assert raised.value.message == f"c.lock.json is not a lock that this version of jig can read ({why})"
    assert raised.value.hint == "make it again:  jig environment lock"


def test_no_lock(tmp_path):
    assert read(str(tmp_path / "c.lock.json")) is None


# When it is used


def test_it_fits_a_file_that_means_the_same():
    made = Lock(lock.meaning(environment(["python=3.11"], ["six", "rich"])), ("six==1.16",), {})
    assert made.fits(environment(["python=3.11", "pip"], ["rich", "six  # a comment"]))
    assert not made.fits(environment(["python=3.12"], ["six", "rich"]))
    assert not made.fits(environment(["python=3.11"], ["six", "rich", "--pre"]))


def test_a_new_password_does_not_make_it_unfit():
    made = Lock(lock.meaning(environment(pip=["https://h/a-1-py3-none-any.whl?sig=1"])), (), {})
    assert made.fits(environment(pip=["https://h/a-1-py3-none-any.whl?sig=2"]))


def test_an_environment_that_is_locked_is_another():
    wanted = environment(["python=3.11"], ["six"])
    locked = Lock(lock.meaning(wanted), ("six==1.16",), {}).applied(wanted)
    assert (locked.requirements, locked.python) == (("six==1.16",), "3.11")
    other = Lock(lock.meaning(wanted), ("six==1.15",), {}).applied(wanted)
    assert len({wanted.fingerprint, locked.fingerprint, other.fingerprint}) == 3


def test_what_it_was_solved_for_is_not_part_of_its_name():
    old, new = ({"linux-64": {"virtual": {"__linux": text}, "records": [RECORD]}} for text in ("5.1", "6.1"))
    assert Lock("m", (), old).digest == Lock("m", (), new).digest
    assert Lock("m", ("six==1.16",), old).digest != Lock("m", (), old).digest


@pytest.mark.parametrize(
    ("platform", "virtual", "why"),
    [
        ("linux-64", {"__cuda": "12.2", "__glibc": "2.31"}, ""),
        ("linux-64", {"__cuda": "12.2=0", "__glibc": "2.17"}, ""),
        ("osx-arm64", {}, "the lock holds no conda packages for osx-arm64"),
        (
            "linux-64",
            {"__glibc": "2.31"},
            "the lock is for another machine: a needs __cuda >=12, and this one has no __cuda",
        ),
        (
            "linux-64",
            {"__cuda": "11.8", "__glibc": "2.31"},
            "the lock is for another machine: a needs __cuda >=12, and this one has __cuda 11.8",
        ),
        (
            "linux-64",
            {"__cuda": "12", "__glibc": "2.5"},
            "the lock is for another machine: a needs __glibc >=2.17,<3.0.a0, and this one has __glibc 2.5",
        ),
    ],
)
def test_the_machine_that_it_is_for(platform, virtual, why):
    depends = ["python", "__cuda >=12", "__glibc >=2.17,<3.0.a0"]
    assert Lock("m", (), part(**RECORD, depends=depends)).misfit(platform, virtual) == why


# What is found for the pip list


def test_versions_and_hashes_for_every_platform(made, index):
    locked = made.lock(environment(["python=3.11"], ["Mixed"]))
    assert locked.pip == (
        hashed("mixed==1.0", index.folder / "mixed-1.0-py3-none-any.whl"),
        hashed("six==1.16 ; sys_platform == 'win32'", index.folder / "six-1.16-py3-none-any.whl"),
    )
    assert (locked.conda, made.said, made.warned) == ({}, ["resolving 1 pip package"], [])


@pytest.mark.parametrize(
    ("python", "versions"),
    [
        ("python=3.11", ["new==1.0"]),
        ("python==3.11.4", ["new==1.0"]),
        ("python>=3.11", ["new==1.0 ; python_full_version < '3.12'", "new==2.0 ; python_full_version >= '3.12'"]),
    ],
)
def test_versions_for_each_python_that_may_be_taken(made, index, python, versions):
    make_wheel(index.folder, "new", "1.0")
    make_wheel(index.folder, "new", "2.0", needs_python=">=3.12")
    locked = made.lock(environment([python], ["new"]))
    assert [line.partition(" --hash")[0] for line in locked.pip] == versions


def test_nothing_to_lock(made):
    assert made.lock(environment(["python=3.11"])) == Lock(lock.meaning(environment(["python=3.11"])), (), {})


def test_versions_stay_until_they_are_upgraded(made, index):
    newest = index.folder / "six-1.16-py3-none-any.whl"
    aside = newest.rename(newest.with_suffix(".aside"))
    wanted = environment(pip=["six"])
    first = made.lock(wanted)
    assert first.pip == (hashed("six==1.15", index.folder / "six-1.15-py3-none-any.whl"),)
    aside.rename(newest)
    os.environ["UV_CACHE_DIR"] += "-again"  # what it knows of the index is kept for a while
    assert made.lock(wanted, first) == first
    more = made.lock(environment(pip=["six", "mixed"]), first)
    assert [line.partition(" ")[0] for line in more.pip] == ["mixed==1.0", "six==1.15"]
    assert made.lock(wanted, first, upgrade=True).pip == (hashed("six==1.16", newest),)


def test_a_package_by_url_keeps_its_secrets_to_the_file(made, index):
    index.password = "s3cret"
    place = index.url.removeprefix("http://")
    login = f"http://user:s3cret@{place}"
    lines = [f"{login}/files/six-1.16-py3-none-any.whl?sig=abc&se=1", f"--extra-index-url {login}/simple", "mixed"]
    wanted = environment(pip=lines)
    locked = made.lock(wanted)
    assert locked.pip == (
        hashed("mixed==1.0", index.folder / "mixed-1.0-py3-none-any.whl"),
        hashed(
            f"six @ http://***@{place}/files/six-1.16-py3-none-any.whl?***", index.folder / "six-1.16-py3-none-any.whl"
        ),
    )
    assert locked.applied(wanted).requirements == (
        locked.pip[0],
        locked.pip[1].replace("***@", "user:s3cret@").replace("?***", "?sig=abc&se=1"),
    )


def test_a_variable_in_a_url_stays_a_variable(made, index, monkeypatch):
    monkeypatch.setenv("PLACE", index.url.removeprefix("http://"))
    line = "six @ http://${PLACE}/files/six-1.16-py3-none-any.whl"
    assert made.lock(environment(pip=[line])).pip == (hashed(line, index.folder / "six-1.16-py3-none-any.whl"),)


def test_a_wheel_of_the_project(made, index, tmp_path):
    wheel = make_wheel(tmp_path / "proj dir", "mine", "1.0", requires=("six",))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = environment(pip=["mine-1.0-py3-none-any.whl"], root=str(wheel.parent))
    locked = made.lock(wanted)
    assert locked.pip == (
        f"mine @ {{files}}/{digest}/mine-1.0-py3-none-any.whl --hash=sha256:{digest}",
        hashed("six==1.16", index.folder / "six-1.16-py3-none-any.whl"),
    )
    assert made.lock(wanted, locked) == locked


def test_the_files_own_hashes_count(made, index):
    digest = hashlib.sha256((index.folder / "six-1.15-py3-none-any.whl").read_bytes()).hexdigest()
    wanted = [f"six==1.15 --hash=sha256:{digest} --hash=sha256:{'0' * 64}", "mixed --hash=sha512:abc"]
    locked = made.lock(environment(pip=wanted))
    assert locked.pip == ("mixed==1.0 --hash=sha512:abc", f"six==1.15 --hash=sha256:{digest}")
    with pytest.raises(PackagesError) as raised:
        made.lock(environment(pip=[f"six==1.15 --hash=sha256:{'0' * 64}"]))
    assert raised.value.message == "no file of six that can be had has the hash that the conda file asks for"


def test_versions_that_do_not_fit(made, index):
    with pytest.raises(PackagesError) as raised:
        made.lock(environment(pip=["six>=2"]))
    assert raised.value.message == (
        "uv could not find versions that fit together: No solution found when resolving dependencies: "
        "Because only six<=1.16 is available and you require six>=2, we can conclude that your requirements are "
        "unsatisfiable"
    )


def test_pip_settings_that_pip_itself_would_refuse(made, monkeypatch):
    monkeypatch.setenv("PIP_PRE", "perhaps")
    with pytest.raises(PackagesError, match="^pip's setting pre is 'perhaps', and neither yes nor no$"):
        made.lock(environment(pip=["six"]))


def test_no_uv(made, monkeypatch):
    monkeypatch.setattr("jig.environments.uv.find_uv", lambda: "")
    with pytest.raises(PackagesError, match="^there is no uv on this computer, which finds the versions$"):
        made.lock(environment(pip=["six"]))


@pytest.mark.parametrize(
    ("request_", "oldest"),
    [
        ("3.11", "3.11"),
        ("3.11.4", "3.11.4"),
        ("3", ""),
        ("", ""),
        ("==3.9.2", "3.9.2"),
        ("==3.9.*", "3.9"),
        (">=3.9,<3.12", "3.9"),
        (">3.9", "3.9"),
        ("~=3.8", "3.8"),
        ("<3.9", "3.8"),
        ("!=3.7.1", PYTHON),
        (">=3.30", "3.30"),
        ("<3", ""),
    ],
)
def test_the_oldest_python_that_must_be_served(request_, oldest):
    assert lock_pip._oldest(request_) == oldest


# What is found for conda packages


def test_conda_packages_and_pip_packages(made, channel: Channel, index):
    wanted = environment(["python", "hello", "zlib"], ["caller"], [channel.url])
    locked = made.lock(wanted)
    version = ".".join(map(str, sys.version_info[:3]))
    assert names(locked) == ["hello 1.0", f"python {version}", "zlib 1.3"]
    assert locked.conda[SUBDIR]["virtual"] == MACHINE
    # `hello` is in no index: conda brings it, in a version that `caller` 2.0 is not content with.
    assert locked.pip == (
        hashed("caller==1.0", index.folder / "caller-1.0-py3-none-any.whl"),
        hashed("six==1.16", index.folder / "six-1.16-py3-none-any.whl"),
    )
    assert made.said == [f"solving 3 packages for {SUBDIR}", "resolving 1 pip package"]


def test_conda_versions_stay_until_they_are_upgraded(made, channel: Channel):
    first = made.lock(environment(["python", "zlib=1.2"], channels=[channel.url]))
    wanted = environment(["python", "zlib"], channels=[channel.url])
    assert names(made.lock(wanted, first))[1:] == ["zlib 1.2"]
    assert names(made.lock(wanted, first, upgrade=True))[1:] == ["zlib 1.3"]
    assert names(made.lock(wanted))[1:] == ["zlib 1.3"]


def test_other_platforms_stay_when_the_lock_fits(made, channel: Channel):
    wanted = environment(["python", "zlib"], channels=[channel.url])
    other = {"osx-arm64": {"virtual": {}, "records": [RECORD]}}
    before = Lock(lock.meaning(wanted), (), other)
    assert sorted(made.lock(wanted, before).conda) == [SUBDIR, "osx-arm64"]
    assert sorted(made.lock(wanted, before, upgrade=True).conda) == [SUBDIR, "osx-arm64"]
    assert sorted(made.lock(wanted, before._replace(meaning="another")).conda) == [SUBDIR]


def test_conda_packages_that_are_no_environment(made, channel: Channel):
    with pytest.raises(PackagesError, match="^none of the conda packages is python, which the script needs$"):
        made.lock(environment(["zlib"], channels=[channel.url]))


def test_a_python_that_uv_finds_no_versions_for(made, channel: Channel):
    locked = made.lock(environment(["python=3.5.2"], ["six>=1"], [channel.url]))
    assert (names(locked), locked.pip) == (["python 3.5.2"], ("six>=1",))
    assert made.warned == ["uv finds no versions for Python 3.5.2: the pip packages stay as the file has them"]


def record(name: str, version: str, depends=("python",), **more):
    return {**RECORD, "name": name, "version": version, "depends": list(depends), **more}


def resolved(made: Made, conda, *pip: str, platform="linux-64") -> "list[str]":
    wanted = environment(["python=3.11", "x"], pip)
    found = lock_pip.resolve(wanted, conda, platform, (), made.said.append, made.warned.append)
    return [line.partition(" --hash")[0] for line in found]


def test_pip_installs_over_what_conda_has_where_the_file_says_so(made, index):
    conda = {"linux-64": [record("python", "3.11.4"), record("six", "1.15")]}
    assert resolved(made, conda, "six") == []
    assert resolved(made, conda, "six>=1.10") == []
    assert resolved(made, conda, "six>1.15") == ["six==1.16"]
    url = f"{index.url}/files/six-1.16-py3-none-any.whl"
    assert resolved(made, conda, url) == [f"six @ {url}"]
    assert resolved(made, conda, f"six @ {url}") == [f"six @ {url}"]


def test_conda_names_of_pip_packages(made, index):
    make_wheel(index.folder, "user", "1.0", requires=("torch>=2", "typing-extensions"))
    conda = {"linux-64": [record("python", "3.11.4"), record("pytorch", "2.1"), record("typing_extensions", "4.9")]}
    assert resolved(made, conda, "user") == ["user==1.0"]


def test_what_conda_brings_on_one_platform_only(made, index):
    make_wheel(index.folder, "hello", "1.0")
    conda = {
        "linux-64": [record("python", "3.11.4"), record("six", "1.15"), record("hello", "1.0")],
        "osx-arm64": [record("python", "3.11.4"), record("six", "1.16")],
    }
    marker = "platform_machine == 'arm64' and sys_platform == 'darwin'"
    assert resolved(made, conda, "caller") == ["caller==1.0", f"hello==1.0 ; {marker}"]


@pytest.mark.parametrize(
    ("platform", "marker"),
    [
        ("linux-64", "sys_platform == 'linux' and platform_machine == 'x86_64'"),
        ("linux-aarch64", "sys_platform == 'linux' and platform_machine == 'aarch64'"),
        ("osx-arm64", "sys_platform == 'darwin' and platform_machine == 'arm64'"),
        ("win-64", "sys_platform == 'win32' and platform_machine == 'AMD64'"),
    ],
)
def test_platforms_as_markers(platform, marker):
    assert lock_pip._marker(platform) == marker


# Secrets

LINES = (
    "git+https://me:pw@h/x.git@main",
    "git+https://other:pw@h/y.git",
    "six @ https://h/six.whl?sig=1",
    "https://h/six.whl?sig=2",
    "https://me:pw@h/a.whl",
    "numpy>=1 ; python_version < '3.12'",
)


def test_secrets_are_hidden_and_put_back():
    secrets = Secrets(LINES)
    hidden = [secrets.hide(line) for line in LINES]
    assert hidden == [
        "git+https://***@h/x.git@main",
        "git+https://***@h/y.git",
        "six @ https://h/six.whl?***",
        "https://h/six.whl?****",
        "https://***@h/a.whl",
        "numpy>=1 ; python_version < '3.12'",
    ]
    assert tuple(map(secrets.put_back, hidden)) == LINES


def test_the_commit_that_uv_adds():
    secrets = Secrets(LINES)
    found = ["x @ git+https://me:pw@h/x.git@0123abc", "y @ git+https://other:pw@h/y.git@0123abc"]
    hidden = [secrets.hide(line) for line in found]
    assert hidden == ["x @ git+https://***@h/x.git@0123abc", "y @ git+https://****@h/y.git@0123abc"]
    assert list(map(secrets.put_back, hidden)) == found


@given(st.lists(st.from_regex(r"https://([ab]:pw[ab]@)?h/[ab](\?sig[ab])?", fullmatch=True), max_size=6))
def test_no_secret_is_written(urls):
    lines = [f"x @ {url} --hash=sha256:00" for url in urls]
    secrets = Secrets(lines)
    hidden = list(map(secrets.hide, lines))
    assert list(map(secrets.put_back, hidden)) == lines
    assert [line.count("*") > 2 for line in hidden] == [without_secrets(line) != line for line in lines]
    assert not any("sig" in line or "pw" in line for line in hidden)
