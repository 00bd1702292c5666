"""One pip requirement, brought to one way of writing it: the form of names and markers that the standards describe."""

from __future__ import annotations

import re

_HASH = re.compile(r"\s+--hash(?:=|\s+)")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S+")
_ARCHIVE = re.compile(r".*\.(whl|zip|tar\.gz|tgz|tar\.bz2|tar\.xz)", re.IGNORECASE)
_NAMED = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\]\s*)?(?P<rest>(?:[@(=<>!~].*)?)"
)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"(===|==|!=|>=|<=|~=|>|<)\s*([A-Za-z0-9.*+!_-]+)")
_WORD = re.compile(r"""\s*("[^"]*"|'[^']*'|===|==|!=|>=|<=|~=|>|<|[()]|[A-Za-z_][A-Za-z0-9_.]*)\s*""")
_MARKER_WORDS = ("and", "or", "in", "not")
_MARKER_NAMES = (
    "extra",
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
)


class LineRefused(Exception):
    """A line of the conda file that cannot be built, and what to write instead."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def is_archive(text: str) -> bool:
    """Whether the text ends as the file of a package does."""
    return bool(_ARCHIVE.fullmatch(text))


def normalize(text: str) -> str:
    """The requirement in its one way of writing; LineRefused when it is none."""
    text, *hashes = _HASH.split(text)
    for value in hashes:
        if not re.fullmatch(r"\w+:[0-9A-Fa-f]+", value):
            raise LineRefused(f"`--hash={value}` is not a hash", "write `--hash=sha256:` and its hexadecimal digits")
    option = re.search(r"\s(--?[A-Za-z][\w-]*)", text)
    if option:
        raise LineRefused(f"`{option[1]}` cannot stand after a requirement", "give the option an entry of its own")
    # Where a URL stands, a semicolon may be part of it: only one after a space begins the marker.
    body, semicolon, marker = _partition(r"\s;" if ":/" in text else ";", text)
    line = _body(body.strip())
    if semicolon:
        line += f" ; {_marker(marker)}"
    return line + "".join(sorted({f" --hash={value.lower()}" for value in hashes}))


def _partition(pattern: str, text: str) -> tuple[str, str, str]:
    found = re.search(pattern, text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _body(text: str) -> str:
    if _URL.fullmatch(text):
        return text
    named = _NAMED.fullmatch(text)
    if named is None or (not named["rest"] and _ARCHIVE.fullmatch(text)):
        return _path(text)
    name = normal_name(named["name"])
    extras = _extras(text, named["extras"] or "")
    rest = named["rest"].strip()
    if rest.startswith("@"):
        url = rest[1:].strip()
        if not _URL.fullmatch(url):
            raise LineRefused(f"`{text}`: `{url}` is not a URL", f"write `{name} @ https://…`")
        return f"{name}{extras} @ {url}"
    return name + extras + _versions(text, name, rest)


def normal_name(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _extras(text: str, inside: str) -> str:
    names = [name.strip() for name in inside.split(",")] if inside.strip() else []
    for name in names:
        if not _NAME.fullmatch(name):
            raise LineRefused(f"`{text}`: `{name}` is not the name of an extra", "write for example `name[extra]`")
    return f"[{','.join(sorted({normal_name(name) for name in names}))}]" if names else ""


def _versions(text: str, name: str, rest: str) -> str:
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1].strip()
    found = set()
    for part in rest.split(",") if rest else ():
        match = _VERSION.fullmatch(part.strip())
        if match is None:
            single = re.fullmatch(r"=\s*([\w.*]+)", part.strip())
            example = f"{name}=={single[1]}" if single else f"{name}>=1.0,<2"
            raise LineRefused(f"`{text}` has no version that pip can read", f"write for example `{example}`")
        found.add(match[1] + match[2])
    return ",".join(sorted(found))


def _path(text: str) -> str:
    """A file on the machine, as a URL."""
    if not text.startswith("/"):
        spaced = re.fullmatch(r"([A-Za-z0-9][\w.-]*)\s+([0-9][\w.]*)", text)
        if spaced:
            raise LineRefused(f"`{text}` is not a requirement that pip can read", f"write `{spaced[1]}=={spaced[2]}`")
        if "/" in text or "\\" in text or text.startswith(("~", ".")) or _ARCHIVE.fullmatch(text):
            raise LineRefused(
                f"`{text}` is a relative path, and there is no such file in the project",
                "write the path of a wheel from the conda file's folder, a URL, or a full path on the machine",
            )
        raise LineRefused(f"`{text}` is not a requirement that pip can read", "write a name, and a version after it")
    if not _ARCHIVE.fullmatch(text):
        raise LineRefused(
            f"`{text}` is a folder, whose content could change without the environment being built again",
            "name a wheel by its URL or full path, or keep the code in the project folder",
        )
    from urllib.parse import quote

    return "file://" + quote(text)


def _marker(text: str) -> str:
    words, at = [], 0
    while at < len(text):
        match = _WORD.match(text, at)
        word = match[1] if match else ""
        if not match or (word[0].isalpha() and word not in _MARKER_WORDS + _MARKER_NAMES):
            from jig.errors import nearest

            meant = nearest(word, _MARKER_NAMES)
            raise LineRefused(
                f"`; {text.strip()}` is not a condition that pip can read"
                + (f": `{word}` is not known" if word else ""),
                f"did you mean `{meant}`?" if meant else 'write for example `; python_version < "3.12"`',
            )
        words.append(f'"{word[1:-1]}"' if word[0] == "'" and '"' not in word else word)
        at = match.end()
    if not words:
        raise LineRefused("a semicolon stands with no condition after it", "remove it")
    return " ".join(words)
