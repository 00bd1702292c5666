"""The log of a run: windows by byte offset, colours, bars, search, and a million lines in a page that stays small."""

import http.client
import json
import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from jig.runner.folder import Home, default_home
from jig.workbench import log_window
from jig.workbench.ansi import Pen
from tests.conftest import call
from tests.workbench.conftest import ready
from tests.workbench.test_guard import cookie_of

WAITS = """import os, time
print('of the launcher', flush=True)
while not os.path.exists({go!r}):
    time.sleep(0.05)
"""


def texts(window):
    return ["".join(text for _, text in spans) for _, spans in window.lines]


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        ("plain", [("", "plain")]),
        ("\x1b[31mred\x1b[0m not", [("f1", "red"), ("", " not")]),
        ("\x1b[1;92mok\x1b[m", [("b f10", "ok")]),
        ("\x1b[38;5;9mnine\x1b[39m", [("f9", "nine")]),
        ("\x1b[38;2;1;2;255mmixed", [("#0102ff", "mixed")]),
        ("\x1b[38;5;196mcube", [("#ff0000", "cube")]),
        ("  0%\r 50%\r100%\r", [("", "100%")]),
        ("\x1b]0;title\x07\x1b[2K\x1b[1Gtext", [("", "text")]),
        ("<b>&amp;", [("", "<b>&amp;")]),
        ("bell\x07nul\0", [("", "bell␇nul␀")]),
        ("\x1b[999999999999mx", [("", "x")]),
        ("", []),
    ],
)
def test_a_line_is_what_a_terminal_would_leave(line, spans):
    assert Pen().spans(line) == spans


def test_a_colour_goes_on_in_the_next_line():
    pen = Pen()
    assert pen.spans("\x1b[32mone") == [("f2", "one")]
    assert pen.spans("two") == [("f2", "two")]


@given(text=st.text(alphabet="ab\r\n\x1b[0;m", max_size=300), step=st.integers(1, 7))
def test_windows_put_together_are_the_whole_log(tmp_path_factory, text, step):
    path = tmp_path_factory.getbasetemp() / "law.log"
    path.write_bytes(text.encode())
    whole = [at for at, _ in log_window.before(str(path), lines=10**6).lines]
    forward, offset = [], 0
    while offset < len(text):
        window = log_window.after(str(path), offset, step)
        assert (window.start, window.size) == (offset, len(text))
        forward += [at for at, _ in window.lines]
        offset = window.end
    backward, offset = [], len(text)
    while offset > 0:
        window = log_window.before(str(path), offset, step)
        assert window.end == offset
        backward = [at for at, _ in window.lines] + backward
        offset = window.start
    assert forward == backward == whole


def test_a_line_longer_than_a_window_is_shown_in_parts(tmp_path):
    path = tmp_path / "long.log"
    path.write_bytes(b"first\n" + b"x" * (3 * log_window.MOST_BYTES) + b"\nlast\n")
    window = log_window.after(str(path), 6)
    assert (window.start, window.end) == (6, 6 + log_window.MOST_BYTES)
    assert len(texts(window)[0]) < 30_000
    assert texts(log_window.before(str(path)))[-1] == "last"


def test_a_log_that_is_not_there_is_empty(tmp_path):
    assert log_window.after(str(tmp_path / "none"), 5) == log_window.Window(0, 0, 0, [])
    assert log_window.find(str(tmp_path / "none"), "x") is None


def test_search_finds_what_stands_across_two_chunks_and_begins_again(tmp_path, monkeypatch):
    monkeypatch.setattr(log_window, "CHUNK", 16)
    path = tmp_path / "a.log"
    path.write_bytes(b"." * 12 + b"Needle" + b"." * 30 + b"ValueError: x\n")
    assert log_window.find(str(path), "nEEDLE") == 12
    assert log_window.find(str(path), "needle", 13) == 12
    assert log_window.find(str(path), "nothing") is None
    assert log_window.first_error(str(path)) == 48 + len("Value")


@pytest.fixture
def million(project):
    """A run whose log has a million lines."""
    project.write("quick.py", "print('hi')\n")
    run = call("submit", "-c", "local", "quick.py").run_id
    with open(Home(default_home()).run(run).log, "w") as file:
        file.writelines(f"line {number} of many, with some words\n" for number in range(700_000))
        file.write("Traceback (most recent call last):\nValueError: here\n")
        file.writelines(f"line {number} of many, with some words\n" for number in range(700_000, 1_000_000))
    return run


def test_a_million_lines(million, server, browse):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"Host": server.address, "Cookie": cookie_of(server)}
    took = []
    for query in ("before=-1", "after=20000000", "around=10000000", "after=99999999999"):
        began = time.monotonic()
        connection.request("GET", f"/runs/{million}/log?{query}", headers=headers)
        answer = json.loads(connection.getresponse().read())
        took.append(time.monotonic() - began)
        assert len(answer["lines"]) <= log_window.LINES + log_window.CONTEXT
    connection.close()
    print("windows:", [f"{1000 * one:.1f} ms" for one in took])
    assert min(took) < 0.1

    page = browse(server, f"/runs/{million}?tab=log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("line 999999 of")
    assert page.locator(".jig-log > div").count() <= 1200
    page.get_by_role("button", name="First error").click()
    mark = page.locator(".jig-log-mark")
    expect(mark).to_have_text("Traceback (most recent call last):")
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    page.get_by_label("Search the log").fill("LINE 123456 of")
    page.keyboard.press("Enter")
    expect(mark).to_have_text("line 123456 of many, with some words")
    for _ in range(6):  # on and on, and what is in the page stays little
        first = page.locator(".jig-log > div").first.get_attribute("data-at")
        log.evaluate("e => { e.scrollTop = 0; }")
        page.wait_for_function("at => document.querySelector('.jig-log > div').dataset.at !== at", arg=first)
        assert page.locator(".jig-log > div").count() <= 1200
    page.get_by_role("button", name="Follow").click()
    expect(log).to_contain_text("line 999999 of")
    page.get_by_role("button", name="Beginning").click()
    expect(mark).to_have_text("line 0 of many, with some words")
    page.get_by_label("Search the log").fill("no such words")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Not found")).to_be_visible()


def test_the_log_grows_and_can_be_paused(project, server, browse):
    project.write(
        "talk.py",
        "import os, sys, time\n"
        "print('\\033[31mred\\033[0m <img src=x onerror=alert(1)>', flush=True)\n"
        "sys.stdout.write('  1%\\r 99%'); sys.stdout.flush()\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
        "print('\\r100%\\nthe end', flush=True)\n",
    )
    gate = project.path.parent / "gate"
    run = call("submit", "-c", "local", "-a", "talk.py", str(gate)).run_id
    page = browse(server, f"/runs/{run}?tab=log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("99%")
    expect(log).not_to_contain_text("1%")
    expect(log.locator(".jig-ansi-f1")).to_have_text("red")
    expect(log.locator("img")).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    gate.touch()
    expect(page.locator(".jig-run-head .jig-state")).to_have_text(re.compile("Completed"))
    ready(page)
    expect(log).not_to_contain_text("the end")
    page.get_by_role("button", name="Follow").click()
    expect(log).to_contain_text("the end")
    expect(log).to_contain_text("100%")


def test_of_several_processes_all_are_shown_or_one(server, project, browse, tmp_path):
    project.write("talk.py", WAITS.format(go=str(tmp_path / "go")))
    run = call("submit", "-a", "-c", "local", "talk.py").run_id
    folder = Home(default_home()).run(run).path
    while not os.path.exists(f"{folder}/output.log") or not os.path.getsize(f"{folder}/output.log"):
        time.sleep(0.05)
    for rank in (0, 1, 10):
        with open(f"{folder}/output.{rank}.log", "w") as file:
            file.write(f"said by {rank}\n" * (rank + 1))
    os.symlink("/etc/passwd", f"{folder}/output.11.log")
    page = browse(server, f"/runs/{run}?tab=log")
    log = page.get_by_role("log")
    merged = "[0] said by 0" + "[1] said by 1" * 2 + "[10] said by 10" * 11 + "of the launcher"
    expect(log).to_have_text(merged)
    with open(f"{folder}/output.1.log", "a") as file:
        file.write("more\nand no end")
    expect(log).to_have_text(merged + "[1] more")
    page.get_by_role("textbox", name="Search the log").fill("MORE")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".jig-log-mark")).to_have_text("[1] more")
    for name, text in (
        ("rank 10", "said by 10" * 11), ("torchrun", "of the launcher"), ("rank 1", "said by 1" * 2 + "moreand no end"),
    ):  # fmt: skip
        page.get_by_label("Output of").click()
        page.get_by_role("option", name=name, exact=True).click()
        expect(log).to_have_text(text)
    page.get_by_label("Output of").click()
    page.get_by_role("option", name="all ranks").click()
    (tmp_path / "go").touch()
    expect(log).to_have_text(merged + "[1] more[1] and no end")
