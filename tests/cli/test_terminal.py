import io
import os
import pty
import termios
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.cli.terminal import (
    StatusLine,
    box,
    coloured,
    cut,
    display_width,
    has_colour,
    human_bytes,
    human_duration,
    is_terminal,
    plain,
    printable,
    width_of,
    wrap,
)


@pytest.fixture
def screen(monkeypatch):
    """A real terminal of 20 columns: the stream to write to, and a function that returns what arrived."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (5, 20))
    stream = os.fdopen(theirs, "w", encoding="utf-8")

    def arrived() -> str:
        stream.write("\0")  # the terminal may hand on what was written in several pieces
        stream.flush()
        text = b""
        while not text.endswith(b"\0"):
            text += os.read(ours, 10_000)
        return text[:-1].decode()

    yield stream, arrived
    stream.close()
    os.close(ours)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("plain", 5), ("é", 1), ("e\u0301", 1), ("学习", 4), ("ｆ", 2), ("🙂", 2), ("a\u200bb", 2),
     ("\x1b[0m", 3), ("\u1112\u1161\u11ab", 2), ("½", 1)],
)  # fmt: skip
def test_display_width(text, columns):
    assert display_width(text) == columns


@given(st.text())
def test_width_adds_up(text):
    assert display_width(text) == sum(display_width(character) for character in text)


@given(st.text(), st.integers(0, 30))
def test_cut_fits(text, width):
    result = cut(text, width)
    assert display_width(result) <= width
    assert result == text if display_width(text) <= width else text.startswith(result.removesuffix("…"))


def test_cut_keeps_marks_with_their_letter():
    assert cut("e\u0301e\u0301e\u0301", 2) == "e\u0301…"
    assert cut("学习机器", 5) == "学习…"
    assert cut("学习机器", 4, "...") == "..."  # a wide character does not fit in what is left
    assert cut("abc", 0) == ""


@given(st.text(), st.integers(2, 30))
def test_wrap_fits_and_loses_nothing(text, width):
    lines = wrap(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrap():
    assert wrap("one two  three\nfour", 9) == ["one two", "three", "four"]
    assert wrap("abcdefgh ij", 3) == ["abc", "def", "gh", "ij"]
    assert wrap("学", 1) == ["学"]
    assert wrap(" ", 5) == []


def test_printable():
    assert printable("a\tb\nc\r\x1b[31m\x7f\x9b\u202e\udcff é学") == "a\\tb\\nc\\r\\x1b[31m\\x7f\\x9b\\u202e\\udcff é学"
    assert printable("a\n\tb\x07", keep="\n\t") == "a\n\tb\\x07"


@given(st.text(st.characters()))
def test_nothing_that_acts_is_left(text):
    shown = printable(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or unicodedata.bidirectional(c) == "RLO"]


def test_what_is_a_terminal(screen, monkeypatch):
    stream, _ = screen
    assert (is_terminal(stream), width_of(stream), has_colour(stream)) == (True, 20, True)
    assert coloured("x", "red", stream) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert (is_terminal(stream), coloured("x", "red", stream)) == (True, "x")
    monkeypatch.setenv("TERM", "dumb")
    assert (is_terminal(stream), width_of(stream)) == (False, 20)
    closed = io.StringIO()
    closed.close()
    for other in (io.StringIO(), closed, None):
        assert (is_terminal(other), width_of(other), has_colour(other)) == (False, 80, False)
        assert coloured("x", "red", other) == "x"


def test_a_terminal_without_a_size_is_80_wide(screen):
    stream, _ = screen
    termios.tcsetwinsize(stream.fileno(), (0, 0))
    assert width_of(stream) == 80


def test_status_line_at_a_terminal(screen):
    stream, arrived = screen
    line = StatusLine(stream)
    line.clear()  # nothing is shown, so nothing is written
    line.show("preparing")
    assert arrived() == "\rpreparing\x1b[K"
    line.show("preparing")  # no change, no flicker
    line.show("学习学习学习学习学习 \x1b[2J")
    assert arrived() == "\r学习学习学习学习学…\x1b[K"
    line.clear()
    line.clear()
    line.show("next\nline")
    assert arrived() == "\r\x1b[K\rnext\\nline\x1b[K"


def test_status_line_in_a_lesser_encoding(screen):
    stream, arrived = screen
    stream.reconfigure(encoding="ascii")
    StatusLine(stream).show("größe")
    assert arrived() == "\rgr??e\x1b[K"


def test_status_line_elsewhere_writes_nothing(screen, monkeypatch):
    stream = io.StringIO()
    line = StatusLine(stream)
    line.show("x")
    line.clear()
    assert stream.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")
    dumb, arrived = screen
    StatusLine(dumb).show("x")
    dumb.write("end")
    assert arrived() == "end"


ROWS = [
    ("state", "Completed"),
    ("metrics 学", "loss  0.1"),
    ("odd\x1b", "a\nb"),
    ("outputs", "outputs/a outputs/b" * 2),
]


def test_box_in_line_characters():
    assert box("mnist_1", ROWS, 40, encoding="utf-8") == (
        "╭─ mnist_1 ──────────────────────╮\n"
        "│ state       Completed          │\n"
        "│ metrics 学  loss  0.1          │\n"
        "│ odd\\x1b     a\\nb               │\n"
        "│ outputs     outputs/a          │\n"
        "│             outputs/boutputs/a │\n"
        "│             outputs/b          │\n"
        "╰────────────────────────────────╯"
    )


def test_box_in_ascii():
    assert box("a title that is long", [("k", "v")], 18, encoding="ascii") == (
        "+- a title t... -+\n"
        "| k  v           |\n"
        "+----------------+"
    )  # fmt: skip
    assert box("t", [], 40, encoding="no-such-encoding") == "+- t -+\n+-----+"


@given(st.lists(st.tuples(st.text(), st.text())), st.text(), st.integers(24, 100))
def test_a_box_is_straight(rows, title, width):
    lines = box(title, rows, width, encoding="utf-8").split("\n")
    assert len({display_width(line) for line in lines}) == 1
    assert display_width(lines[0]) <= width


def test_plain():
    assert plain(ROWS[:3]) == "state: Completed\nmetrics 学: loss  0.1\nodd\\x1b: a\\nb"
    assert plain([("empty", "")]) == "empty:"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (-5, "0.0 s"), (0.84, "0.8 s"), (59.94, "59.9 s"), (59.96, "1 min 00 s"), (65, "1 min 05 s"),
     (3599.4, "59 min 59 s"), (3599.6, "1 h 00 min"), (7380, "2 h 03 min"), (86399, "1 d 00 h"), (273600, "3 d 04 h")],
)  # fmt: skip
def test_human_duration(seconds, text):
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345_678, "12.3 MB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
     (5 * 10**12, "5.0 TB"), (10**18, "1000.0 PB")],
)  # fmt: skip
def test_human_bytes(count, text):
    assert human_bytes(count) == text
