"""Mistakes found in real project files: each is named, with its line, beside whatever else is wrong."""

import pytest

from jig.errors import ProjectError
from jig.project.yaml import parse


def no_space(key):
    return f"there is no space after the colon of `{key}:`, so that it is not a key"


def test_a_missing_space_after_the_colon(faults):
    text = (
        "Target: local\nFramework:Python\nTrackedRun:false\nEnvironmentVariables:\n  A: b\n  TOKEN:secret\ncolor: red\n"
    )
    assert faults("x.runconfig", text)[:3] == [
        (2, "Framework", no_space("Framework"), "write `Framework: Python`"),
        (3, "TrackedRun", no_space("TrackedRun"), "write `TrackedRun: false`"),
        (6, "TOKEN", no_space("TOKEN"), "write `TOKEN: …`"),
    ]
    assert [fault[:2] for fault in faults("x.runconfig", text)[3:]] == [(7, "color")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Framework:Python", [(1, "Framework")]),
        ("Framework:Python\r\nTarget:local\r\n", [(1, "Framework"), (2, "Target")]),
        ('"Framework":"Python"\n', [(1, "Framework")]),
        ("EnvironmentVariables:\n  A:b\n  C:d\n", [(2, "EnvironmentVariables.A"), (3, "EnvironmentVariables.C")]),
        ("{Framework:Python, Target: local}", [(1, "Framework:Python")]),
    ],
)
def test_a_missing_space_wherever_it_is(faults, text, expected):
    found = faults("x.runconfig", text)
    assert [(line, key) for line, key, _, _ in found] == expected
    assert all("no space after the colon" in message for _, _, message, _ in found)


def test_nvidia_docker_without_a_space(faults):
    text = "type: localdocker\nnvidiaDocker:true\n"
    assert faults("x.compute", text) == [(2, "nvidiaDocker", no_space("nvidiaDocker"), "write `nvidiaDocker: true`")]


def test_what_only_looks_like_a_missing_space(project):
    text = (
        "EnvironmentVariables:\n  A: |\n    Framework:Python\n    a:b\n  URL:\n    http://example.com\n"
        "  B: 'x\n\n    Framework:Python'\nArgumentVector:\n  - a:b\n  - Framework:Python\n"
    )
    config = project({"x.runconfig": text}).run_config("x")
    assert config.environment_variables == (
        ("A", "Framework:Python\na:b\n"),
        ("URL", "http://example.com"),
        ("B", "x\nFramework:Python"),
    )
    assert config.argument_vector == ("a:b", "Framework:Python")


def test_block_text_is_left_alone_when_something_else_is_wrong(faults):
    text = "EnvironmentVariables:\n  A: |\n    a:b\n\n    c:d\n  B: x\nFramework:Python\n"
    assert [(line, key) for line, key, _, _ in faults("x.runconfig", text)] == [(7, "Framework")]


def test_merge_conflict(faults):
    text = "<<<<<<< HEAD\ntype: docker\n=======\ntype: localdocker\n>>>>>>> 1a2b3c\nbaseImage: x\n"
    fix = "keep one side of the conflict and delete the marker lines"
    conflict = "a merge conflict was left unresolved here"
    assert faults("x.compute", text) == [
        (1, "", conflict, fix),
        (3, "", conflict, fix),
        (5, "", conflict, fix),
        (6, "baseImage", "`baseImage` is not a key of a .compute file", "did you mean `baseDockerImage`?"),
    ]


def test_merge_conflict_with_the_common_ancestor(faults):
    text = "type: local\r\n<<<<<<< a\r\nx: 1\r\n||||||| b\r\nx: 2\r\n=======\r\nx: 3\r\n>>>>>>> c\r\n"
    assert [line for line, key, _, _ in faults("x.compute", text) if not key] == [2, 4, 6, 8]


def test_a_row_of_equals_signs_is_no_conflict(project):
    text = "# Title\n# =======\nDescription: |\n  Title\n  =======\nTarget: local\n"
    assert project({"x.runconfig": text}).run_config("x").description == "Title\n=======\n"


@pytest.mark.parametrize(
    ("text", "line", "fix"),
    [
        ('{\n "PrepareEnvironment": true.\n "Framework":"PySpark"\n}', 2, "write `,` instead of `.`"),
        ('{\n "PrepareEnvironment": true;\n "Framework": "PySpark"\n}', 2, "write `,` instead of `;`"),
        ('{"PrepareEnvironment": true. "Framework": "PySpark"}', 1, "write `,` instead of `.`"),
        ('{\n "PrepareEnvironment": true # no comma\n "Framework": "PySpark"\n}', 2, "write `,`"),
    ],
)
def test_a_value_that_swallowed_the_next_key(faults, text, line, fix):
    message = 'a comma is missing after `true`, so that the next key, `"Framework"`, became part of it'
    assert faults("x.runconfig", text) == [(line, "PrepareEnvironment", message, fix)]


def test_every_missing_comma_is_named(faults):
    variables = '"EnvironmentVariables": {"T": "s3" "U": "x"}'
    text = '{\n"ArgumentVector": ["a"]\n"Target": "x"\n"Framework": "Scala",\n' + variables + "}"
    found = faults("x.runconfig", text)
    assert [(line, key) for line, key, _, _ in found] == [(2, ""), (3, "Target"), (4, "Framework"), (5, "T")]
    assert "s3" not in str(found[3])


@pytest.mark.parametrize(
    "text",
    [
        '{"Target": "a \\"Framework\\": b", "Framework": Python}',
        "{'Target': 'it''s \"Framework\": x', \"Framework\": Python}",
        '{Target: it\'s, "Framework": Python}',
        '{Target: x, # a "Target": b\n "Framework": Python}',
        '{? "Framework" : Python, ? Target : x}',
        '--- {"Framework": &a Python, &b "Target": x}',
    ],
)
def test_commas_that_are_where_they_belong(text):
    assert parse(text, "f")[1] == []


def test_a_value_that_ran_on_outside_braces(faults):
    found = faults(
        "x.runconfig", 'PrepareEnvironment: true. "Framework":"PySpark"\nTarget: local\n  TrackedRun:false\n'
    )
    assert [(line, key, message) for line, key, message, _ in found] == [
        (
            1,
            "PrepareEnvironment",
            "the value of `PrepareEnvironment` ran on into the next key, `Framework`: `true.` must end before it",
        ),
        (2, "Target", "the value of `Target` ran on into the next key, `TrackedRun`: `local` must end before it"),
    ]
    assert "a comma after" in found[0][3]


def test_a_list_with_bracket_and_dashes(faults):
    text = '"ArgumentVector": [\n  - "myscript.py"\n  # a comment\n  - 234\n  - "-v" ]\nbogus: 1\n'
    fix = 'write\n        ArgumentVector:\n          - "myscript.py"\n          - 234\n          - "-v"'
    found = faults("x.runconfig", text)
    assert found[0] == (1, "ArgumentVector", "the list mixes `[` with `- ` items: use one of the two", fix)
    assert [(line, key) for line, key, _, _ in found[1:]] == [(6, "bogus")]


def test_the_same_list_with_no_space_either(faults):
    found = faults("x.runconfig", '"ArgumentVector":[\n  - "a.py",\n  - 234\n]\nFramework:Python\n')
    assert [(line, key) for line, key, _, _ in found] == [
        (1, "ArgumentVector"),
        (1, "ArgumentVector"),
        (5, "Framework"),
    ]


@pytest.mark.parametrize("indent", ["", "    "])
def test_data_source_settings_without_nesting(faults, indent):
    text = f"DataSourceSettings:\n{indent}my.dsource:\n{indent}Sampling:\n{indent}Sample: Top5\nTargets: x\n"
    fix = "write\n        DataSourceSettings:\n          my.dsource:\n            Sampling:\n              Sample: Top5"
    message = "the lines of `DataSourceSettings` are not nested: each must be indented under the one above"
    assert faults("x.runconfig", text) == [
        (2, "DataSourceSettings.my.dsource", message, fix),
        (5, "Targets", "`Targets` is not a key of a .runconfig file", "did you mean `Target`?"),
    ]


def test_tabs_as_indentation(faults):
    text = "EnvironmentVariables:\n\tA: b\n\tC: d\nbogus: 1\n"
    found = faults("x.runconfig", text)
    assert found[:2] == [
        (2, "", "the line is indented with a tab", "indent with spaces"),
        (3, "", "the line is indented with a tab", "indent with spaces"),
    ]
    assert [(line, key) for line, key, _, _ in found[2:]] == [(4, "bogus")]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "\t# a comment\nTarget: x\n",
        "Target: x\t# a comment\n",
        "Target: x\t\n",
        "Target:\tx\n",
        "Target: x\n\t\n",
        '{\n\t"Target":\t"x"\n\t}\n',
    ],
)
def test_tabs_that_do_no_harm(text, pure):
    root, faults = parse(text, "f", pure)
    assert faults == []
    assert [(key.text, value.text) for key, value in root.pairs()] == [("Target", "x")]


def test_dots_copied_from_an_article(faults):
    text = "type: localdocker\n...\nbaseDockerImage: x\nnvidia_docker: true\n"
    assert faults("x.compute", text) == [
        (2, "", "`...` ends the file here", "delete the line"),
        (4, "nvidia_docker", "`nvidia_docker` is not a key of a .compute file", "did you mean `nvidiaDocker`?"),
    ]


@pytest.mark.parametrize("banner", ["#" * 5000, "# " * 5000, "#\n" * 5000, " \n" * 5000])
def test_long_comments_are_read_at_once(banner):
    root, faults = parse(f"{banner}\nTarget: x\n", "f")
    assert ([node.text for node in root.children], faults) == (["Target", "x"], [])


@pytest.mark.parametrize(
    "line", ["...\n", "<<<<<<< a\n", "\x07\n", "a:b\n", "a: [\n", "\ta\n", '{"a": x "b": y\n', "a: |x\n"]
)
def test_a_file_full_of_one_mistake_is_refused_in_reasonable_time(line):
    with pytest.raises(ProjectError):
        raise ProjectError(parse(line * 20_000 + "a: b\n", "f")[1])
