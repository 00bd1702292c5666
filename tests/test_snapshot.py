"""Freezing code: what is in, what is out, and what an unchanged tree costs."""

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jig import snapshot
from jig.errors import SnapshotError
from jig.runner import manifest
from jig.runner.blobs import BlobStore


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


class Tree:
    def __init__(self, folder):
        self.root = folder / "tree"
        self.root.mkdir()
        self.store = BlobStore(str(folder / "blobs"))
        self.cache = str(folder / "cache.json")
        self.warnings = []

    def write(self, name, text="x", mode=0o644, age_s=10.0):
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        then = time.time() - age_s
        os.utime(place, (then, then))
        return place

    def take(self, **options):
        return snapshot.take(str(self.root), self.store, self.cache, warn=self.warnings.append, **options)

    def names(self):
        return [entry[1] for entry in self.take().entries]


def test_the_id_is_the_hash_of_the_manifest(tree):
    tree.write("b.py", "two")
    tree.write("a.py", "one", 0o755)
    taken = tree.take()
    assert [entry[:4] for entry in taken.entries] == [["f", "a.py", 0o755, 3], ["f", "b.py", 0o644, 3]]
    assert tree.store.read(taken.entries[0][4]) == b"one"
    assert manifest.decode(tree.store.read(taken.id)) == taken.entries
    assert (taken.files, taken.bytes) == (2, 6)


def test_what_never_belongs(tree):
    for name in (
        "keep.py", "sub/outputs/keep.py", ".git/config", "outputs/model.bin", "__pycache__/a.pyc", "a.pyc",
        "env/pyvenv.cfg", "env/lib/x.py", "cenv/conda-meta/history", ".ipynb_checkpoints/x", ".mypy_cache/y",
    ):  # fmt: skip
        tree.write(name)
    assert tree.names() == ["keep.py", "sub/outputs/keep.py"]


def test_amlignore_wins_over_gitignore(tree):
    for name in ("a.txt", "b.log", "data/c.bin", "data/keep.txt"):
        tree.write(name)
    tree.write(".gitignore", "*.txt\n")
    assert tree.names() == [".gitignore", "b.log", "data/c.bin"]
    tree.write(".amlignore", "data/*\n!data/keep.txt\n*.log\n")
    assert tree.names() == [".amlignore", ".gitignore", "a.txt", "data/keep.txt"]


def test_nested_gitignore_and_negation(tree):
    for name in ("x.bin", "sub/x.bin", "sub/keep.bin", "sub/deep/x.bin"):
        tree.write(name)
    tree.write(".gitignore", "*.bin\n")
    tree.write("sub/.gitignore", "!keep.bin\n")
    assert tree.names() == [".gitignore", "sub/.gitignore", "sub/deep", "sub/keep.bin"]


def test_a_changed_ignore_file_is_noticed(tree):
    tree.write("a.txt")
    tree.write("b.txt")
    tree.write(".gitignore", "a.txt\n")
    assert tree.names() == [".gitignore", "b.txt"]
    tree.write(".gitignore", "b.txt\n", age_s=5)
    assert tree.names() == [".gitignore", "a.txt"]


def test_links_modes_and_empty_folders_are_kept(tree, tmp_path):
    tree.write("real.py", "r", 0o640)
    (tree.root / "empty").mkdir()
    (tree.root / "link.py").symlink_to("real.py")
    (tree.root / "absolute.py").symlink_to(tree.root / "real.py")
    taken = tree.take()
    assert [entry[:3] for entry in taken.entries] == [
        ["l", "absolute.py", "real.py"],
        ["d", "empty"],
        ["l", "link.py", "real.py"],
        ["f", "real.py", 0o640],
    ]
    out = tmp_path / "out"
    out.mkdir()
    manifest.lay_out(taken.entries, tree.store, str(out))
    assert (out / "link.py").read_text() == "r"
    assert (out / "absolute.py").resolve() == out / "real.py"
    assert (out / "real.py").stat().st_mode & 0o777 == 0o640
    assert (out / "empty").is_dir()


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../outside"])
def test_a_link_that_leaves_the_project_is_named(tree, target):
    (tree.root / "bad").symlink_to(target)
    with pytest.raises(SnapshotError, match="the link bad -> .* leaves the project"):
        tree.take()


def test_an_unchanged_tree_is_not_read_again(tree, monkeypatch):
    for number in range(50):
        tree.write(f"d{number % 5}/f{number}.py", str(number))
    first = tree.take()
    monkeypatch.setattr(snapshot, "_freeze", lambda *_: pytest.fail("a file was read again"))
    assert tree.take() == first


def test_a_file_changed_in_the_same_tick_is_read_again(tree):
    place = tree.write("a.py", "one")
    tree.take()
    for text in ("two", "six", "ten"):
        place.write_text(text)
        entry = tree.take().entries[0]
        assert tree.store.read(entry[4]) == text.encode()


def test_same_size_same_mtime_is_noticed_by_ctime(tree):
    place = tree.write("a.py", "one")
    before = place.stat()
    tree.take()
    time.sleep(0.05)
    place.write_text("two")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert tree.store.read(tree.take().entries[0][4]) == b"two"


def test_a_damaged_cache_is_ignored(tree):
    tree.write("a.py", "one")
    first = tree.take()
    for text in ("", "{", "[]", '{"epoch": 1}'):
        with open(tree.cache, "w") as file:
            file.write(text)
        assert tree.take() == first


def test_size_limits(tree, monkeypatch):
    monkeypatch.setattr(snapshot, "WARN_BYTES", 100)
    monkeypatch.setattr(snapshot, "LARGE_BYTES", 1000)
    tree.write("small.bin", "x" * 50)
    tree.take()
    assert tree.warnings == []
    tree.write("medium.bin", "x" * 500)
    tree.take()
    assert len(tree.warnings) == 1
    assert tree.warnings[0].splitlines()[1].strip() == "0.0 MB  medium.bin"
    tree.write("big.bin", "x" * 5000)
    with pytest.raises(SnapshotError, match=r"big\.bin\n.*medium\.bin") as caught:
        tree.take()
    assert "--large" in caught.value.hint
    assert tree.take(large=True).files == 3


def test_an_unreadable_folder_is_named(tree, monkeypatch):
    tree.write("a/b.py")

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(snapshot.os, "scandir", refuse)
    with pytest.raises(SnapshotError, match="cannot read .*: Permission denied"):
        tree.take()


names = st.lists(
    st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=20).filter(
        lambda name: name not in (".", "..") and len(name.encode()) < 200
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(names, st.binary(max_size=40)), max_size=6))
def test_what_is_frozen_is_what_comes_out(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("law")
    root, out = folder / "in", folder / "out"
    root.mkdir()
    out.mkdir()
    kept = {}
    for parts, data in files:
        place = root.joinpath(*parts)
        if place.exists() or any(parent.is_file() for parent in place.parents):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    for place in root.rglob("*"):
        if place.is_file():
            kept[str(place.relative_to(root))] = place.read_bytes()
    store = BlobStore(str(folder / "blobs"))
    taken = snapshot.take(str(root), store, str(folder / "cache"))
    manifest.lay_out(taken.entries, store, str(out))
    came = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert came == {n: d for n, d in kept.items() if n in {entry[1] for entry in taken.entries}}
    assert {n for n in kept if not n.endswith(".pyc") and n.split("/")[0] != "outputs" and "." not in n} <= set(came)
    assert snapshot.take(str(root), store, str(folder / "cache")) == taken
