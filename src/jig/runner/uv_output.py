"""What uv prints while it builds: its steps as they come, and its last error as one sentence."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


class Said:
    """What uv has written to the log since it was started."""

    def __init__(self, path: str, start: int, tell: "Callable[[str], None]") -> None:
        self._path = path
        self._start = start
        self._told = 0
        self._tell = tell

    def text(self) -> str:
        """All of it."""
        with open(self._path, "rb") as file:
            file.seek(self._start)
            return file.read().decode("utf-8", "replace")

    def follow(self) -> None:
        """Tell each new whole line that says what uv is doing."""
        lines = self.text().split("\n")[:-1]
        for line in lines[self._told :]:
            resolved = re.match(r"Resolved (\d+) package", line)
            if resolved:
                number = int(resolved.group(1))
                self._tell("installing %d package%s" % (number, "" if number == 1 else "s"))
            elif re.match(r"\s*(Downloading|Building) \S", line):
                self._tell(line.strip()[0].lower() + line.strip()[1:])
        self._told = len(lines)


def explain(text: str) -> str:
    """One sentence from the last error that uv printed, without its frame of lines and without passwords."""
    starts = [found.start() for found in re.finditer(r"(?m)^(?:error: |[ \t]*× )", text)]
    if not starts:
        return ""
    block = text[starts[-1] :]
    head = re.split(r"\n\s*\n|\n\s*(?:hint|help):|\n\s*\[std(?:out|err)\]", block)[0]
    head = re.sub(r"^error: |^\s*× ", "", head)
    head = re.sub(r":?\n\s*(?:cause:|Caused by:|├─▶|╰─▶)\s*", ": ", head)
    sentence = " ".join(re.sub(r"[│├╰]", " ", head).split()).rstrip(".:")
    printed = re.findall(r"(?m)^\s+(\w*(?:Error|Exception): .+)$", block)  # of a package that could not be built
    if printed:
        sentence += ": " + printed[-1].strip()
    sentence = re.sub(r"(://[^\s?]+\?)[^\s`)]+?(?=:?(?:[\s`)]|$))", r"\1***", sentence)
    return _shorten(re.sub(r"(://)[^/@\s]+@", r"\1***@", sentence))


def _shorten(sentence: str, limit: int = 400) -> str:
    """The beginning and the end, which say what failed and why."""
    return sentence if len(sentence) <= limit else sentence[: limit // 2] + " … " + sentence[-limit // 2 :]
