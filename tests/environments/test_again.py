"""A run's record of packages, turned into an environment to build."""

from jig.environments import Environment, fingerprint
from jig.environments.again import again, lacks_secrets, pinned, with_secrets

HASH = "0" * 64
ASKED = Environment("uv", "f" * 32, "3.11", ("alpha[x]>=1", "beta"), ("--index-url https://***@example.com/simple",))
RECORD = {"python": "3.11.7", "pip": ["alpha==1.2", "beta==2.0", "Low_Er==1"], "conda": []}


def test_exactly_what_was_there():
    made = again(ASKED, RECORD)
    assert made.environment.requirements == ("alpha==1.2", "beta==2.0", "low-er==1")
    assert made.environment.python == "3.11.7" and made.environment.options == ASKED.options
    assert made.environment.locked == made.lock.digest
    assert made.environment.fingerprint == fingerprint(made.environment) != ASKED.fingerprint
    assert again(ASKED, RECORD) == made, "and the same each time"
    assert again(ASKED, {}).environment == ASKED


def test_a_locked_run_keeps_its_hashes():
    lines = ("alpha==1.2 --hash=sha256:1", "beta==2.0 ; python_version < '3.12' --hash=sha256:2")
    made = again(ASKED._replace(requirements=lines, locked="l" * 32), RECORD)
    assert made.environment.requirements == lines


def test_packages_of_addresses():
    asked = (f"{{files}}/{HASH}/own-3.0.whl", "https://example.com/w/far-1.0.whl#sha256=1", "alpha")
    installed = (
        f"own==3.0 (from file:///x/files/{HASH}/own-3.0.whl)",
        "far==1.0 (from https://example.com/w/far-1.0.whl)",
        "repo==0.1 (from git+https://example.com/repo@" + "a" * 40 + ")",
        "gone==1.0 (from file:///x/other.whl)",
        "alpha==1.0",
        "no sense",
    )
    assert pinned(installed, asked) == [
        asked[0],
        asked[1],
        "repo @ git+https://example.com/repo@" + "a" * 40,
        "gone==1.0",
        "alpha==1.0",
    ]


def test_what_cannot_be_had_is_let_go_one_by_one():
    made = again(ASKED, RECORD)
    said = "uv could not install the packages: … Because there is no version of alpha==1.2 and you require alpha==1.2"
    nearer = made.without(said, ASKED.requirements)
    assert nearer.environment.requirements == ("alpha[x]>=1", "beta==2.0", "low-er==1") and nearer.free == ("alpha",)
    assert nearer.environment.fingerprint != made.environment.fingerprint
    assert nearer.without(said, ASKED.requirements) is None, "not twice"
    said = "Because low-er was not found in the package registry and you require low-er==1, we can conclude"
    assert made.without(said, ASKED.requirements).environment.requirements[2] == "low-er"
    assert made.without("the disk is full", ASKED.requirements) is None


def test_a_python_that_cannot_be_had():
    made = again(ASKED, RECORD)
    said = (
        "uv could not make an environment with Python 3.11.7: No interpreter found for Python 3.11.7 in the search path"
    )
    nearer = made.without(said, ASKED.requirements)
    assert nearer.environment.python == "3.11" and nearer.environment.requirements == made.environment.requirements
    assert nearer.without(said, ASKED.requirements) is None


def test_conda_records_become_a_lock():
    records = [
        {"name": "zlib", "version": "1.2", "build": "0", "subdir": "noarch"},
        {"name": "python", "version": "3.11.7", "build": "0", "subdir": "linux-64"},
    ]
    asked = Environment("conda", "f" * 32, channels=("https://c",), packages=("python", "zlib"))
    made = again(asked, {"python": "3.11.7", "conda": records, "pip": []})
    assert made.lock.conda == {"linux-64": {"virtual": {}, "records": records}}
    assert made.environment.packages == asked.packages and made.environment.locked == made.lock.digest
    assert made.lock.misfit("linux-aarch64", {}) == "the lock holds no conda packages for linux-aarch64"


def test_logins_come_from_the_frozen_files():
    texts = ["dependencies:\n- pip:\n  - '--index-url https://user:hush@example.com/simple'\n"]
    found = with_secrets(ASKED, texts)
    assert found.options == ("--index-url https://user:hush@example.com/simple",)
    assert not lacks_secrets(found)
    assert lacks_secrets(with_secrets(ASKED, ["nothing"]))
