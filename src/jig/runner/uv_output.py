"""What uv prints while it builds: its steps as they come, and its last error as one sentence."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Set, Tuple

_STEPS = {"Resolved": "resolve", "Prepared": "download", "Installed": "install", "Bytecode compiled": "compile"}
NO_PYTHON = "has no such Python, and uv could not download one"
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}
_UNITS_MIB = {"KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0}


class Said:
    """What uv has printed: tells its steps as they come, and notes how long they took."""

    def __init__(self, tell: "Callable[[str], None]", progress: "Callable[[str], None]") -> None:
        self.text = ""
        self.steps: "List[Tuple[str, float]]" = []
        self.packages = 0
        self.installed: "List[str]" = []  # `name==version`, with where it came from where that was a URL
        self._tell = tell
        self._progress = progress
        self._unfinished = b""
        self._coming: "Dict[str, float]" = {}
        self._here: "Set[str]" = set()

    def hear(self, data: bytes) -> None:
        """Take in what was printed; a line counts when it is whole."""
        whole, newline, self._unfinished = (self._unfinished + data).rpartition(b"\n")
        text = (whole + newline).decode("utf-8", "replace")
        self.text += text
        before = (len(self._coming), len(self._here))
        for line in text.splitlines():
            self._take(line.strip())
        if (len(self._coming), len(self._here)) != before:
            # uv names the large ones only.
            done = sum(self._coming.get(name, 0.0) for name in self._here)
            sizes = (len(self._here), len(self._coming), done, sum(self._coming.values()))
            self._progress("downloading: %d of %d large files are here, %.0f of %.0f MiB" % sizes)

    def _take(self, line: str) -> None:
        found = re.match(r"(Resolved|Prepared|Installed|Bytecode compiled) (\d+) (?:package|file)s? in (.+)", line)
        if found:
            self.steps.append((_STEPS[found.group(1)], _seconds(found.group(3))))
        if found and found.group(1) == "Resolved":
            self.packages = int(found.group(2))
            self._tell("installing %d package%s" % (self.packages, "" if self.packages == 1 else "s"))
        found = re.match(r"Downloading (\S+).*\(([\d.]+)([KMG]iB)\)$", line)
        if found:
            self._coming[found.group(1)] = float(found.group(2)) * _UNITS_MIB[found.group(3)]
        found = re.match(r"Downloaded (\S+)", line)
        if found:
            self._here.add(found.group(1))
        found = re.match(r"[+~] (\S+==\S+(?: \(from .+\))?)$", line)
        if found:
            self.installed.append(without_secrets(found.group(1)))
        if re.match(r"Building \S", line):
            self._tell("b" + line[1:])


def _seconds(text: str) -> float:
    return sum(float(number) * _UNITS_S[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", text))


def explain(text: str, where: str = "this machine") -> str:
    """One sentence from the last error that uv printed, without its frame of lines and without passwords.

    `where` is what the environment is made in.
    """
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
    if "python-build-standalone" in sentence and "ownload" in sentence:
        sentence = "%s %s: %s" % (where, NO_PYTHON, sentence.rpartition(": ")[2])
    return _shorten(without_secrets(sentence))


def without_secrets(sentence: str) -> str:
    """The sentence with `user:password@` and `?query` of its URLs blotted out."""
    sentence = re.sub(r"(://[^\s?]+\?)[^\s`)]+?(?=:?(?:[\s`)]|$))", r"\1***", sentence)
    return re.sub(r"(://)[^/\s]+@", r"\1***@", sentence)


class Log:
    """Writes what a program prints to a log, line by line, without the secrets of the URLs in it."""

    def __init__(self, write: "Callable[[bytes], object]") -> None:
        self._write = write
        self._unfinished = b""

    def hear(self, data: bytes) -> None:
        """Take in what was printed; a line is written when it is whole."""
        whole, newline, self._unfinished = (self._unfinished + data).rpartition(b"\n")
        self._put(whole + newline)

    def end(self) -> None:
        """Nothing more will come."""
        self._put(self._unfinished)
        self._unfinished = b""

    def _put(self, data: bytes) -> None:
        if data:
            text = data.decode("utf-8", "surrogateescape")
            self._write(without_secrets(text).encode("utf-8", "surrogateescape"))


def _shorten(sentence: str, limit: int = 400) -> str:
    """The beginning and the end, which say what failed and why."""
    return sentence if len(sentence) <= limit else sentence[: limit // 2] + " … " + sentence[-limit // 2 :]
