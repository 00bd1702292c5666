"""The command prompt: a real shell, which outlives the page and not the server."""

import asyncio
import os
import signal
import sys
import venv

import pytest
from playwright.sync_api import expect

from jig.workbench.prompt_path import Prompt
from jig.workbench.terminals import Terminals
from tests.conftest import call, until
from tests.workbench.conftest import in_a_loop, ready
from tests.workbench.test_guard import get


@pytest.fixture(autouse=True)
def bash(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/bash")


def screen(page):
    return page.locator(".xterm-rows")


def type_line(page, line):
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type(line + "\n")


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_shell_in_the_project_outlives_the_page_and_not_the_server(serve, browse, project, tmp_path):
    server = serve(project.path)
    page = browse(server, "/prompt")
    type_line(page, f"echo $$ > {tmp_path}/pid; sleep 1000 & echo $! > {tmp_path}/sleep; pwd; kept=yes")
    expect(screen(page)).to_contain_text(str(project.path))
    rows = page.locator(".xterm-rows > div").count()
    assert rows > 30  # as high as its place
    type_line(page, f"stty size > {tmp_path}/size")
    until((tmp_path / "size").exists, what="the size")
    assert until((tmp_path / "size").read_text, what="the size").split()[0] == str(rows)
    page.set_viewport_size({"width": 1280, "height": 500})
    until(lambda: page.locator(".xterm-rows > div").count() < rows, what="a smaller terminal")
    page.goto(server.root + "/history")
    ready(page)
    page.goto(server.root + "/prompt")
    ready(page)
    expect(screen(page)).to_contain_text("kept=yes")  # what was on it
    type_line(page, "echo still-$kept")
    expect(screen(page)).to_contain_text("still-yes")
    other = browse(server, "/prompt")  # another tab has a terminal of its own
    type_line(other, "echo other-$kept-")
    expect(screen(other)).to_contain_text("other--")
    shell, child = (int((tmp_path / name).read_text()) for name in ("pid", "sleep"))
    assert is_alive(shell) and is_alive(child)
    for one in (page, other):
        one.context.close()
    assert server.end() == 0
    until(lambda: not is_alive(shell) and not is_alive(child), what="the end of the shell")


def test_a_shell_begins_with_the_size_of_its_place(serve, browse, project, tmp_path, jig_home):
    """One that is told of its size later draws its prompt again, over what somebody's first command has printed."""
    (jig_home.parent / ".bashrc").write_text(f"stty size > {tmp_path}/first\ntrap 'echo resized' WINCH\n")
    page = browse(serve(project.path), "/prompt")
    type_line(page, "echo typed-$((40 + 2))")
    expect(screen(page)).to_contain_text("typed-42")
    rows = page.locator(".xterm-rows > div").count()
    assert rows > 30 and (tmp_path / "first").read_text().split()[0] == str(rows)
    type_line(page, "echo last-$((40 + 2))")
    expect(screen(page)).to_contain_text("last-42")
    assert "resized" not in (screen(page).text_content() or "")


def test_a_shell_that_ended_is_started_again(serve, browse, project):
    page = browse(serve(project.path), "/prompt")
    type_line(page, "exit")
    expect(screen(page)).to_contain_text("The shell has ended")
    page.keyboard.press("Enter")
    expect(screen(page)).not_to_contain_text("The shell has ended")
    type_line(page, "echo new-$((40 + 2))")
    expect(screen(page)).to_contain_text("new-42")


def test_a_flood_is_stopped_by_ctrl_c(serve, browse, project):
    page = browse(serve(project.path), "/prompt")
    type_line(page, "yes")
    expect(screen(page)).to_contain_text("y" * 3)
    page.keyboard.press("Control+c")
    type_line(page, "clear; echo over-$((40 + 2))")
    expect(screen(page)).to_contain_text("over-42")


def test_room_is_made_without_waiting_for_what_does_not_listen(monkeypatch, tmp_path):
    monkeypatch.setattr("jig.workbench.terminals.MOST", 1)
    deaf = Prompt(("/bin/sh", "-c", "trap '' HUP; echo deaf; exec sleep 1000"), str(tmp_path), dict(os.environ))
    there = Terminals()

    async def fill() -> bool:
        first = there.get("tab", "root", lambda: deaf, (24, 80))
        while "deaf" not in first.text:
            await asyncio.sleep(0.01)
        monkeypatch.setattr("jig.workbench.terminals.LEAVE_S", 30.0)
        there.get("another tab", "root", lambda: deaf, (24, 80))
        was_there = is_alive(first._process.pid)
        os.killpg(first._process.pid, signal.SIGKILL)
        monkeypatch.setattr("jig.workbench.terminals.LEAVE_S", 0.1)
        there.close()
        return was_there

    assert in_a_loop(fill())


def test_what_pip_installs_there_the_runs_of_local_find(serve, browse, project, tmp_path, jig_home):
    place = tmp_path / "my python"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    project.write("aml_config/local.compute", f'type: local\npythonLocation: "{python}"\n')
    (jig_home.parent / ".bashrc").write_text("PATH=/usr/bin:/bin:$PATH\n")  # as many have it
    page = browse(serve(project.path), "/prompt")
    type_line(
        page, f"clear; which python > {tmp_path}/a; head -2 $(which pip) > {tmp_path}/b; jig --version > {tmp_path}/c"
    )
    until((tmp_path / "c").exists, what="the answers")
    until(lambda: (tmp_path / "c").read_text(), what="the version")
    assert (tmp_path / "a").read_text() == f"{python}\n"
    assert (tmp_path / "b").read_text().splitlines()[1] == f"exec '{python}' -m pip \"$@\""
    assert (tmp_path / "c").read_text() == call("--version").out
    library = next((place / "lib").iterdir()) / "site-packages"
    (library / "brought.py").write_text("value = 42\n")  # as an installation would
    project.write("uses.py", "import brought; print(brought.value)\n")
    type_line(page, "jig submit -c local uses.py; echo code-$?")
    expect(screen(page)).to_contain_text("code-0")
    assert sys.executable != str(python) and os.path.exists(python)


def test_it_is_behind_the_guard(serve, project):
    server = serve(project.path)
    assert get(server, "/prompt")[0] == 403
    assert get(server, "/history/rows?ask={}")[0] == 403
