"""Patches from frozen files: git itself is the judge."""

import hashlib
import os
import stat
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from jig.compare.files import Change, Side, changes
from jig.compare.patch import git_name, patch, quoted

BLOBS = {}


def blob(data: bytes) -> str:
    name = hashlib.sha256(data).hexdigest()
    BLOBS[name] = data
    return name


def file(path: str, data: bytes, mode: int = 0o644) -> list:
    return ["f", path, mode, len(data), blob(data)]


def text(old: list, new: list) -> bytes:
    return b"".join(patch(change, BLOBS.__getitem__, BLOBS.__getitem__).text for change in changes(old, new))


def lay_out(folder, entries) -> None:
    for entry in entries:
        place = os.path.join(os.fsencode(folder), os.fsencode(entry[1]))
        os.makedirs(place if entry[0] == "d" else os.path.dirname(place), exist_ok=True)
        if entry[0] == "d":
            continue
        if entry[0] == "l":
            os.symlink(os.fsencode(entry[2]), place)
            continue
        with open(place, "wb") as made:
            made.write(BLOBS[entry[4]])
        os.chmod(place, entry[2])


def found(folder) -> dict:
    """Path → (program or not, bytes) of every file, and where every link leads."""
    there = {}
    for parent, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            place = os.path.join(parent, name)
            path = os.fsdecode(os.path.relpath(place, os.fsencode(folder)))
            if os.path.islink(place):
                there[path] = os.fsdecode(os.readlink(place))
            else:
                with open(place, "rb") as opened:
                    there[path] = (bool(os.stat(place).st_mode & stat.S_IXUSR), opened.read())
    return there


def applied(tmp, old, new) -> dict:
    """What `git apply` makes of the old files."""
    for name in ("old", "new"):
        subprocess.run(["rm", "-rf", str(tmp / name)], check=True)
        (tmp / name).mkdir()
    lay_out(tmp / "old", old)
    lay_out(tmp / "new", new)
    made = text(old, new)
    if made:
        done = subprocess.run(["git", "apply", "-"], input=made, cwd=tmp / "old", capture_output=True)
        assert done.returncode == 0, done.stderr.decode() + made.decode(errors="replace")
    assert found(tmp / "old") == found(tmp / "new")
    return found(tmp / "new")


def test_all_kinds_of_change(tmp_path):
    old = [
        file("a.py", b"one\ntwo\nthree\n"),
        file("gone.txt", b"was\n"),
        file("sub/binary.bin", bytes(range(256))),
        file("run.sh", b"#!/bin/sh\n"),
        file("my notes.txt", b"no end"),
        ["l", "link", "a.py"],
        ["l", "turned", "a.py"],
        file("empty", b""),
        ["d", "hollow"],
    ]
    new = [
        file("a.py", b"one\n2\nthree\n"),
        file("sub/binary.bin", bytes(range(255, -1, -1)) * 3),
        file("run.sh", b"#!/bin/sh\n", 0o755),
        file("my notes.txt", b"an end\n"),
        ["l", "link", "run.sh"],
        file("turned", b"a file now\n"),
        file("full", b""),
        file('odd "name"\t\\\n', b"x\n"),
        file("caf\u00e9/\u6570.txt", b"y\n"),
    ]
    applied(tmp_path, old, new)


def test_the_text_is_git_s_own(tmp_path):
    """Byte for byte what `git diff --full-index` writes, for what a person edits."""
    before = b"".join(b"line %d\n" % number for number in range(40))
    after = before.replace(b"line 7\n", b"line seven\n").replace(b"line 30\n", b"").replace(b"line 39\n", b"line 39")
    old, new = [file("a.py", before), file("b", b"x\n", 0o755)], [file("a.py", after), file("b", b"x\n")]
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.fileMode=true"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    lay_out(tmp_path, old)
    subprocess.run([*git, "add", "."], check=True, cwd=tmp_path)
    subprocess.run([*git, "commit", "-qm", "x"], check=True, cwd=tmp_path)
    lay_out(tmp_path, new)
    words = ["diff", "--full-index", "--no-color", "--no-ext-diff"]
    theirs = subprocess.run([*git, *words], check=True, cwd=tmp_path, capture_output=True).stdout
    # git names the function around a hunk, behind the second @@.
    theirs = b"\n".join(line.split(b" @@ ")[0] + b" @@" if b" @@ " in line else line for line in theirs.split(b"\n"))
    assert text(old, new) == theirs


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"-- x\n", b"\r\n", b"\x0c\n"]), max_size=30)
ENDS = st.sampled_from([b"", b"no end", b"\xff\xfe"])


@settings(max_examples=40, deadline=None)
@given(old=LINES, new=LINES, old_end=ENDS, new_end=ENDS)
def test_law_applying_gives_the_new_file(tmp_path_factory, old, new, old_end, new_end):
    before, after = b"".join(old) + old_end, b"".join(new) + new_end
    applied(tmp_path_factory.mktemp("law"), [file("f", before)], [file("f", after)])


@settings(max_examples=15, deadline=None)
@given(old=st.binary(max_size=300), new=st.binary(max_size=300))
def test_law_of_bytes(tmp_path_factory, old, new):
    applied(tmp_path_factory.mktemp("law"), [file("f", b"\0" + old)], [file("f", new + b"\0")])


def test_a_long_file_is_done_in_time():
    before = b"".join(b"%d\n" % number for number in range(60_000))
    after = b"".join(b"%d\n" % (number * 7) for number in range(60_000))
    change = Change("f", Side(0o100644, blob(before)), Side(0o100644, blob(after)))
    made = patch(change, BLOBS.__getitem__, BLOBS.__getitem__)
    assert (made.added, made.deleted) == (59_999, 59_999)  # replaced as a whole, but for the first line


def test_names():
    assert git_name(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_name(b"x", "sha256") == hashlib.sha256(b"blob 1\0x").hexdigest()
    assert quoted("a b") == b"a b"
    assert quoted('t\t"\\\x01') == b'"t\\t\\"\\\\\\001"'
    assert quoted("\udcff") == b"\xff"


def test_what_changed():
    old = [file("a", b"1"), file("b", b"1"), ["l", "c", "a"], file("m", b"1")]
    new = [file("a", b"2"), ["l", "c", "b"], file("m", b"1", 0o700), file("n", b"1"), ["d", "e"]]
    kinds = [(change.path, change.kind) for change in changes(old, new)]
    assert kinds == [("a", "changed"), ("b", "deleted"), ("c", "changed"), ("m", "mode"), ("n", "new")]
    assert changes(old, [[*entry[:2], 0o664, *entry[3:]] if entry[0] == "f" else entry for entry in old]) == []
