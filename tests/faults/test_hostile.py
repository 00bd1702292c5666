"""Names, arguments and logs that tools trip over."""

import os

import pytest

from jig.runner import events
from tests.conftest import ProjectFolder, call

NAMES = [
    "with space",
    "quo'te",
    'dou"ble',
    "new\nline",
    "日本語 проект",
    "-rf",
    "$HOME",
    "`id`",
    "a;b",
    "..x",
    "%s",
    "é" * 60,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_project_by_any_name(tmp_path, monkeypatch, cli, name):
    folder = ProjectFolder(tmp_path / name)
    script = f"{name}.py"
    folder.write(script, "import sys; print(sys.argv[1:])")
    monkeypatch.chdir(folder.path)
    said = cli("submit", "-c", "local", "--", script, name, "", "--", "-c")
    assert said.code == 0, said.err
    assert repr([name, "", "--", "-c"]) in said.out
    prefix, _, milliseconds = said.run_id.rpartition("_")
    assert milliseconds.isdigit() and len(milliseconds) == 13
    assert prefix and all(c.isascii() and (c.isalnum() or c == "-") for c in prefix)
    assert cli("history", "list").json()[0]["script_name"] == script


def test_a_file_name_that_is_not_text(project, cli, jig_home):
    with open(os.fsencode(str(project.path)) + b"/bad\xff.txt", "wb") as file:
        file.write(b"data")
    project.write("a.py", "import os; print([n for n in os.listdir(b'.') if n.startswith(b'bad')])")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and r"b'bad\xff.txt'" in said.out


LOGS = {
    "not UTF-8": b"\xff\xfe\x00 \x80\n",
    "a progress bar": b"".join(b"\r%3d%%" % n for n in range(101)) + b"\n",
    "no line end": b"the end",
    "a 10 MB line": b"x" * 10_000_000 + b"\n",
    "every byte": bytes(range(256)) * 100,
    "terminal escapes": b"\x1b[31mred\x1b[0m\x1b]0;title\x07\n",
}


@pytest.mark.parametrize("what", LOGS)
def test_a_log_is_kept_to_the_byte(project, cli, jig_home, what, tmp_path):
    data = LOGS[what]
    (tmp_path / "data").write_bytes(data)
    project.write(
        "a.py", "import os, sys\ndata = open(sys.argv[1], 'rb').read()\nwhile data: data = data[os.write(1, data):]"
    )
    said = call("submit", "-c", "local", "a.py", str(tmp_path / "data"))
    assert said.code == 0, said.err
    folder = jig_home / "runs" / said.run_id
    assert (folder / "output.log").read_bytes() == data
    assert events.read(str(folder / "events.jsonl"))[-1]["log_size"] == len(data)
    shown = said.raw.split(b"===\n", 1)[1]
    assert shown.startswith(data)
    assert call("logs", said.run_id).raw == data
    assert call("logs", "-f", said.run_id).raw.startswith(data)
    assert cli("history", "info", "-r", said.run_id, "-a", "driver_log").raw == data
