import json
import os
import stat
import subprocess
import sys

import pytest
import yaml as pyyaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jig.errors import ProjectError
from jig.project import compute, dependencies, runconfig
from jig.project.yaml import EPOCH, Node, load, parse


def only_fault(text, pure=False):
    with pytest.raises(ProjectError) as caught:
        raise ProjectError(parse(text, "f", pure)[1])
    (fault,) = caught.value.faults
    return fault.line, fault.message


def test_a_node_has_text_as_written_and_lines():
    root = parse("# x\na: 0123\nb:\n  - 'q'\n  - ~\n", "f")[0]
    assert root == Node(
        "map",
        2,
        "",
        (
            Node("plain", 2, "a", ()),
            Node("plain", 2, "0123", ()),
            Node("plain", 3, "b", ()),
            Node("list", 4, "", (Node("quoted", 4, "q", ()), Node("null", 5, "~", ()))),
        ),
    )
    assert list(root.pairs()) == [(root.children[0], root.children[1]), (root.children[2], root.children[3])]


@pytest.mark.parametrize("pure", [False, True])
def test_aliases_are_resolved_within_reason(pure):
    root = parse("a: &x [1]\nb: *x\n", "f", pure)[0]
    assert root.children[3] == root.children[1]
    assert only_fault("a: *x\n", pure) == (1, "`*x` points to nothing before it")
    assert only_fault("a: &x [*x]\n", pure) == (1, "`*x` points to nothing before it")
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(9))
    assert only_fault(bomb, pure)[1] == "more than 100,000 values"


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: b\nc: 'd\n", 2, "the quote that opens at line 2 is never closed"),
        ("a: [b,\n c\n", 2, "the list that opens with `[` at line 1 lacks a comma or its `]`"),
        ("a: {b: c\n", 1, "the map that opens with `{` at line 1 lacks a comma or its `}`"),
        ("a: b: c\n", 1, "there is a second `: ` in one value, or this line is indented too far"),
        ("a: b\nc d e\nf: g\n", 2, "this line is neither `key: value` nor part of the value above"),
        ("a:\n  b: c\n d: e\n", 3, "this line does not fit the indentation of the lines above"),
        ("a: b\n- c\n", 2, "this line does not fit the indentation of the lines above"),
        ('a: "C:\\Users\\x"\n', 1, "a backslash inside double quotes starts an escape that does not exist"),
        ("a: @b\n", 1, "a value cannot start with this character"),
        ("a: *.csv\n", 1, "a value cannot start with `*`"),
        ("a: !b!c d\n", 1, "a value cannot start with `!`"),
        ("a: !b c\n", 1, "`!b` is a YAML tag, which has no meaning here"),
        ("a: b\n---\nc: d\n", 2, "a second document starts here"),
        ("a: |x\n b\n", 1, "`|` and `>` must stand alone after the key"),
        ("a: [b]]\n", 1, "there is more text after the value has ended"),
        ("a: 'it's'\n", 1, "there is more text after the value has ended"),
        ("a: ? b\n", 1, "a value cannot start with `? `"),
        ("a: - b\n", 1, "a `- ` item cannot start here"),
        ("a: [b, , c]\n", 1, "a value is missing before this place"),
        ("a: 'b\n---\nc: d\n", 2, "the quote that opens at line 1 is never closed"),
        ("[" * 65, 1, "nested more than 64 levels deep"),
        ("[" * 200_000, 1, "nested more than 64 levels deep"),
        ("a: \x07\n", 1, "character U+0007 cannot be part of a text file"),
        ('a: "x\\0"\n', 1, "a value holds a character that no program can be given (NUL, or half a character)"),
    ],
)
def test_syntax_errors_are_one_plain_sentence(text, line, message, pure):
    assert only_fault(text, pure) == (line, message)


def test_escapes_that_name_no_character():
    for pure in (False, True):
        for escape in ("\\U00110000", "\\ud800"):
            with pytest.raises(ProjectError):
                parse(f'a: "{escape}"\n', "f", pure)


def test_files_that_are_not_utf8_text(tmp_path):
    path = tmp_path / "f"
    for data, line, message in (
        (b"a: b\nc: \xe9\n", 2, "byte 0xe9 is not UTF-8 text"),
        ("a: b".encode("utf-16"), 1, "the file is UTF-16 text"),
        (b"a" * 1_000_001, 0, "larger than 1,000,000 bytes: not a file of settings"),
    ):
        path.write_bytes(data)
        with pytest.raises(ProjectError) as caught:
            load(str(path), None, "f")
        (fault,) = caught.value.faults
        assert (fault.file, fault.line, fault.message) == ("f", line, message)
    with pytest.raises(ProjectError, match="not a regular file"):
        load(str(tmp_path), None)
    with pytest.raises(ProjectError, match="could not be read: No such file"):
        load(str(tmp_path / "none"), None)


def test_an_empty_file_is_none(tmp_path):
    (tmp_path / "f").write_text("# only a comment\n")
    assert load(str(tmp_path / "f"), str(tmp_path / "cache")) is None


def entries(folder):
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_the_cache_answers_without_yaml(tmp_path):
    (tmp_path / "f").write_text("a: [b, 'ж', null]\n", encoding="utf-8")
    cache = tmp_path / "deep" / "cache"
    first = load(str(tmp_path / "f"), str(cache))
    (entry,) = entries(cache)
    assert entry.endswith(f".{EPOCH}.json")
    assert stat.S_IMODE((cache / entry).stat().st_mode) & 0o077 == 0 or os.name == "nt"
    program = (
        "import sys; from jig.project.yaml import load; node = load(*sys.argv[1:]);"
        " print('yaml' in sys.modules, ascii(node))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "f"), str(cache)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == f"False {ascii(first)}\n"


def test_a_changed_file_is_parsed_anew(tmp_path):
    path, cache = tmp_path / "f", tmp_path / "cache"
    for text in ("a: b\n", "a: c\n"):
        path.write_text(text)
        assert load(str(path), str(cache)).children[1].text == text[3]
    assert len(entries(cache)) == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "null",
        "[]",
        '["map", 1, "", [["plain", 1, "a", []]]]',
        '["other", 1, "", []]',
        '["plain", 1, "", [["plain", 1, "a", []]]]',
        '["map", "1", "", []]',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_malformed_cache_entry_is_ignored(tmp_path, content):
    path, cache = tmp_path / "f", tmp_path / "cache"
    path.write_text("a: b\n")
    first = load(str(path), str(cache))
    (entry,) = entries(cache)
    (cache / entry).write_bytes(content.encode("utf-8", "surrogateescape"))
    assert load(str(path), str(cache)) == first


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path):
    path, cache = tmp_path / "f", tmp_path / "cache"
    path.write_text("a: b\n")
    cache.write_text("a file where the folder should be")
    assert load(str(path), str(cache)).children[1].text == "b"


def test_faulty_files_and_passwords_are_not_cached(tmp_path):
    path, cache = tmp_path / "f", tmp_path / "cache"
    path.write_text("type: remote\npassword: hunter2\n")
    load(str(path), str(cache))
    path.write_text("Framework:Python\n")
    with pytest.raises(ProjectError):
        load(str(path), str(cache))
    assert entries(cache) == []
    path.write_text("password: AzureMlSecret=x#y#0\n")
    load(str(path), str(cache))
    assert len(entries(cache)) == 1


def test_the_cache_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr("jig.project.cache.ENTRIES_LIMIT", 3)
    path, cache = tmp_path / "f", tmp_path / "cache"
    for number in range(10):
        path.write_text(f"a: {number}\n")
        load(str(path), str(cache))
        assert 1 <= len(entries(cache)) <= 3
    assert load(str(path), str(cache)).children[1].text == "9"


def as_json(node):
    return json.loads(json.dumps(node))


WORDS = st.sampled_from(
    ["type", "Target", "Framework", "password", "ArgumentVector", "dependencies", "pip", "packages", "configuration"]
    + ["EnvironmentVariables", "DataSourceSettings", "Sampling", "environment", "fromClient", "cluster", "x.dsource"]
    + [": ", ":", "\n", "\n  ", "\n- ", "- ", "\t", " ", '"', "'", "{", "}", "[", "]", ",", "#", "|", ">", "&a", "*a"]
    + ["!x", "---", "...", "true", "true.", "null", "Python", "local", "<<<<<<< a\n", "=======\n", ">>>>>>> b\n", "<<"]
    + ["\r\n", "?", "\\", "%", "@", "\ufeff", "\x85", "é", "0", "\\U00110000", "\\ud800", "\\x"]
)
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=30).map("".join))


@settings(max_examples=600, deadline=None)
@given(TEXTS, st.booleans())
@example('a: "\\U00110000"', True)
@example("[" * 3000, True)
def test_no_text_makes_the_parser_raise_anything_else(text, pure):
    try:
        root, _ = parse(text, "f", pure)
    except ProjectError as error:
        assert error.faults
    else:
        assert root is None or root.line > 0


@settings(max_examples=600, deadline=None)
@given(data=st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary()))
def test_no_file_makes_a_reader_raise_anything_else(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(data)
    last_line = (
        data.count(b"\n") + data.count(b"\r") + 2 + 3 * data.count("\x85".encode()) + 3 * data.count(b"\xe2\x80")
    )
    for read in (
        lambda: compute.read(str(path), "f", "x", None),
        lambda: runconfig.read(str(path), "f", "x", None),
        lambda: dependencies.read_conda(str(path), "f", None),
        lambda: dependencies.read_spark(str(path), "f", None),
    ):
        try:
            read()
        except ProjectError as error:
            assert error.faults
            assert all(0 <= fault.line <= last_line for fault in error.faults)
            assert [fault.line for fault in error.faults] == sorted(fault.line for fault in error.faults)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(alphabet=st.characters(codec="utf-8"))),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(alphabet="abc", min_size=1), inner)),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(alphabet="abcdef", min_size=1), VALUES, min_size=1))
def test_both_parsers_read_what_yaml_writes_and_the_cache_keeps_it(tmp_path_factory, value):
    text = pyyaml.safe_dump(value, allow_unicode=True)
    if "\\0" in text:
        return
    node = parse(text, "f")[0]
    assert parse(text, "f", pure=True)[0] == node
    path = tmp_path_factory.getbasetemp() / "dumped"
    path.write_bytes(text.encode())
    cache = str(tmp_path_factory.getbasetemp() / "cache")
    assert load(str(path), cache) == node
    assert load(str(path), cache) == node
    assert as_json(node)[0] == "map"
