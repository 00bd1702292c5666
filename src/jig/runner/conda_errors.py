"""What rattler says when packages cannot be chosen, fetched or linked, as one sentence."""

import re

from jig.runner.conda_credentials import hide_credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Sequence, Tuple

THE_FILE = "the file"
# How a person calls what conda calls a virtual package.
_MACHINE = {"__glibc": "glibc", "__cuda": "CUDA", "__linux": "Linux", "__osx": "macOS", "__win": "Windows"}
_SUBJECT = re.compile(
    r"^(?P<subject>.+?),? (?:(?:which )?can(?:not)? be installed|would (?:require|constrain)$|for which no candidates"
    r"|which conflicts|is excluded because|is locked)"
)
# Links of a chain of causes that say nothing which the next one does not say better.
_EMPTY = (
    "failed to interact with the package cache layer",
    "Request failed",
    "client error (Connect)",
    "tcp connect error",
    "dns error",
    "error resolving DNS",
    "error decoding response body",
    "an io error occurred",
)


def explain_solve(text: str, virtual: "Dict[str, str]", available: "Sequence[str]" = ()) -> str:
    """Why there is no solution. `virtual` is what the machine has, `available` what there is of a `missing` package."""
    want = missing(text)
    if want:
        there = ", ".join(_few(available, 6))
        return "no channel has " + want + (" (there is %s)" % there if there else "")
    tree = _Tree(text)
    conflict = tree.conflict()
    if conflict:  # before the builds for other machines, which are named along with it
        return conflict
    if tree.absent:
        who, wanted = tree.absent[0]
        return "%s needs %s" % (_package(who), _not_there(wanted, virtual))
    if tree.excluded:
        wanted, channel = tree.excluded[0]
        name = wanted.split()[0]
        return "%s is only in %s, and %s is taken from the first channel that has it: %s::%s asks for this one" % (
            (_package(wanted), channel, name, channel, name)
        )
    return _first_line(text)


def missing(text: str) -> str:
    """The package of the file that no channel has, as it was asked for, or an empty string."""
    found = re.search(r"No candidates were found for (.+?)(?: \*)?\.\s*$", text)
    return found.group(1) if found else ""


def explain_fetch(text: str) -> str:
    """Why a channel could not be read, or a package not be fetched or linked, from a chain of causes."""
    text = hide_credentials(text)
    chain = [part.strip() for part in re.split(r"\n\s*(?:Caused by: )?", text) if part.strip()]
    what = re.match(r"failed to fetch (\S+)$", chain[0]) if chain else None
    prefix = what.group(1) + " could not be fetched: " if what else ""
    gone = re.search(r"could not find subdir '[^']*' in channel '([^']+)'", text)
    status = re.search(r"HTTP status (?:client|server) error \((\d+) ?([^)]*)\) for url \(([^)]+)\)", text)
    unreached = re.search(r"error sending request for url \(\w+://([^/)]+)", text)
    wrong = re.search(r"hash mismatch .*?expected ([0-9a-f]{64}), got ([0-9a-f]{64})", text, re.S)
    if gone:
        return "there is no conda channel at %s%s" % (gone.group(1), " (%s)" % status.group(1) if status else "")
    if wrong:
        return wrong_hash(what.group(1) if what else "a package", wrong.group(1), wrong.group(2))
    if status:
        login = ", which means that it wants a login" if status.group(1) in ("401", "403") else ""
        return "%s%s answers %s %s%s" % (prefix, status.group(3), status.group(1), status.group(2), login)
    if unreached:
        return "%s%s cannot be reached: %s" % (prefix, unreached.group(1), _without_number(chain[-1]))
    if "end of file before message length reached" in text:
        return prefix + "the connection broke off before the end"
    if "No space left on device" in text:
        return prefix + "there is no space left on the disk"
    broken = re.search(r"Invalid checksum|decompression not finished but EOF|unexpected end of file|invalid Zip", text)
    if what and broken:
        return "%s is damaged: %s" % (what.group(1), _without_number(chain[-1]))
    kept = [part for number, part in enumerate(chain) if not _says_nothing(part, chain[number + 1 :])]
    return _shorten(": ".join(_without_number(part).rstrip(".:") for part in kept), 400)


def wrong_hash(file_name: str, expected: str, found: str) -> str:
    """A package that is not the one that was chosen."""
    return "%s is not the file that was asked for: its sha256 is %s, not %s" % (file_name, found, expected)


class _Tree:
    """The solver's drawing, three columns a level: who needs what, and where that ends."""

    def __init__(self, text: str) -> None:
        self.absent: "List[Tuple[str, str]]" = []
        self.excluded: "List[Tuple[str, str]]" = []
        self._wants: "List[Tuple[str, str, str]]" = []
        self._clashing = ""
        subjects: "List[str]" = []
        for line in text.replace("Cannot solve the request because of: ", "").split("\n"):
            drawn = re.match(r"^[│ ├└─]*", line)
            row = line[drawn.end() :].strip() if drawn else ""
            if row and not row.startswith("The following packages are incompatible"):
                depth = drawn.end() // 3 if drawn else 0
                found = _SUBJECT.match(row)
                subjects[depth:] = [""] * (depth - len(subjects[:depth])) + [found.group("subject") if found else row]
                self._read(row, subjects)

    def _read(self, row: str, subjects: "List[str]") -> None:
        subject, who = subjects[-1], subjects[-2] if len(subjects) > 1 and subjects[-2] else THE_FILE
        if "would require" in row or "would constrain" in row:
            return
        if "for which no candidates were found" in row:
            self.absent.append((who, subject))
        elif "strict channel priority" in row:
            place = re.search(r"from: '([^']+?)/?'", row)
            self.excluded.append((subject, place.group(1) if place else "another channel"))
        elif "which conflicts with the versions" in row:
            self._clashing = subject.split()[0]
        elif "which conflicts with any" in row:
            self._clashing = subject.split()[0]
            self._wants.append((who, subject, "only goes with"))
        elif re.search(r"can(?:not)? be installed", row):
            self._wants.append((who, subject, "asks for" if who == THE_FILE else "needs"))

    def conflict(self) -> str:
        """Who wants what does not go together, if that is told; the order does not depend on the solver's way."""
        asked: "Dict[Tuple[str, str], List[str]]" = {}
        for who, wanted, verb in self._wants:
            name, _, version = wanted.partition(" ")
            if name == self._clashing and version not in ("", "*"):
                versions = asked.setdefault((who, verb), [])
                if version not in versions:
                    versions.append(version)
        said = []
        for (who, verb), versions in sorted(asked.items(), key=lambda item: (item[0][0] != THE_FILE, item[0])):
            joint = " and also " if who == THE_FILE else " or "
            said.append("%s %s %s %s" % (_package(who), verb, self._clashing, joint.join(_few(sorted(versions), 3))))
        if len(said) > 1:
            return ", ".join(said[:-1][:3]) + ", but " + said[-1]
        return said[0] if said and len(next(iter(asked.values()))) > 1 else ""


def _not_there(wanted: str, virtual: "Dict[str, str]") -> str:
    name, _, version = wanted.partition(" ")
    if not name.startswith("__"):
        return wanted + ", which no channel has"
    called = _MACHINE.get(name, name)
    wanted = called if version in ("", "*") else called + " " + version
    if name in virtual:
        return "%s, but the machine has %s %s" % (wanted, called, virtual[name].partition("=")[0])
    return "%s, but the machine has no %s" % (wanted, called)


def _package(text: str) -> str:
    """`name 1.0 | 1.1 | …`, with few of the versions."""
    return " | ".join(_few(text.split(" | "), 3))


def _few(items: "Sequence[str]", limit: int) -> "List[str]":
    """All of them, or where there are many the first and the last ones."""
    half = limit // 2
    return list(items) if len(items) <= limit else list(items[:half]) + ["…"] + list(items[-half:])


def _says_nothing(part: str, after: "Sequence[str]") -> bool:
    return bool(after) and (part.startswith(_EMPTY) or after[0] in part)


def _without_number(part: str) -> str:
    return re.sub(r" \(os error \d+\)", "", part)


def _first_line(text: str) -> str:
    return _shorten(text.replace("Cannot solve the request because of: ", "").strip().split("\n")[0], 400)


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit // 2] + " … " + text[-limit // 2 :]
