"""A line of a log as a terminal would leave it: colours as classes, `\\r` bars at their last state."""

from __future__ import annotations

import re

Span = tuple[str, str]  # classes, or a colour that begins with #, and the text

LONGEST = 20_000  # characters of a line that are shown
ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
SEEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\x1b"} | {0x7F: 0x2421}
STYLES = {1: "b", 2: "d", 3: "i", 4: "u"}
OFF = {22: ("b", "d"), 23: ("i",), 24: ("u",), 39: ("fore",), 49: ("back",)}


class Pen:
    """What the next character is written with; it goes on from line to line."""

    def __init__(self) -> None:
        """As a terminal begins."""
        self._styles: dict[str, str] = {}

    def spans(self, line: str) -> list[Span]:
        """The parts of one line, without its end."""
        line = next((part for part in reversed(line.split("\r")) if part), "")
        line, cut = line[:LONGEST], "…" if len(line) > LONGEST else ""
        found: list[Span] = []
        at = 0
        for match in ESCAPE.finditer(line):
            self._add(found, line[at : match.start()])
            at = match.end()
            if match[1] is not None:
                self._take(match[1])
        self._add(found, line[at:] + cut)
        return found

    def _add(self, found: list[Span], text: str) -> None:
        if text:
            found.append((" ".join(self._styles.values()), text.translate(SEEN)))

    def _take(self, codes: str) -> None:
        numbers = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in re.split("[;:]", codes)]
        while numbers:
            code = numbers.pop(0)
            if code == 0:
                self._styles.clear()
            elif code in STYLES:
                self._styles[STYLES[code]] = STYLES[code]
            elif code in OFF:
                for name in OFF[code]:
                    self._styles.pop(name, None)
            elif 30 <= code < 38 or 90 <= code < 98:
                self._styles["fore"] = f"f{code - 30 if code < 38 else code - 82}"
            elif 40 <= code < 48 or 100 <= code < 108:
                self._styles["back"] = f"g{code - 40 if code < 48 else code - 92}"
            elif code in (38, 48):
                self._mix("fore" if code == 38 else "back", numbers)

    def _mix(self, ground: str, numbers: list[int]) -> None:
        """A colour of 256, or of all: only letters have those here."""
        kind = numbers.pop(0) if numbers else 0
        if kind == 5 and numbers:
            index = numbers.pop(0)
            named = f"{ground[0] if ground == 'fore' else 'g'}{index}"
            if index < 16 or ground == "fore":
                self._styles[ground] = named if index < 16 else _of_256(index)
        elif kind == 2 and len(numbers) >= 3:
            red, green, blue = (min(255, numbers.pop(0)) for _ in range(3))
            if ground == "fore":
                self._styles[ground] = f"#{red:02x}{green:02x}{blue:02x}"


def _of_256(index: int) -> str:
    if index >= 232:
        return f"#{8 + 10 * (min(index, 255) - 232):02x}" + 2 * f"{8 + 10 * (min(index, 255) - 232):02x}"
    levels = (0, 95, 135, 175, 215, 255)
    index -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (index // 36, index // 6 % 6, index % 6))
