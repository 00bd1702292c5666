"""One text file: read, written aside and renamed, and whether it changed meanwhile."""

from __future__ import annotations

import hashlib
import os

from jig.errors import JigError, UsageError
from jig.values import Value
from jig.workbench.words import say

SIZE_LIMIT = 2_000_000
LANGUAGES = {
    ".py": "Python", ".yml": "YAML", ".yaml": "YAML", ".compute": "YAML", ".runconfig": "YAML", ".json": "JSON",
    ".md": "Markdown", ".sh": "Shell", ".toml": "TOML", ".r": "R", ".sql": "SQL", ".js": "JavaScript", ".css": "CSS",
    ".xml": "XML", ".html": "HTML", ".cpp": "C++", ".c": "C", ".scala": "Scala",
}  # fmt: skip


class Document(Value):
    """A file as it was read: its text with plain line ends, and what it takes to write it as it was."""

    path: str
    text: str
    digest: str
    line_end: str = "\n"
    mark: bytes = b""  # that of UTF-8, where the file begins with it

    @property
    def language(self) -> str | None:
        """What the editor calls its language, if it knows one."""
        return LANGUAGES.get(os.path.splitext(self.path)[1].lower())


def read(path: str) -> Document:
    """The file at this path; UsageError for what is no text, or too much of it."""
    name = os.path.basename(path)
    data = _bytes(path)
    if len(data) > SIZE_LIMIT:
        raise UsageError(say("document.large", name=name, most=f"{SIZE_LIMIT:,}"), say("document.large.hint"))
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(say("document.binary", name=name), say("document.binary.hint"))
    ends = {text.count("\r\n"), text.count("\n"), text.count("\r")}
    line_end = "\r\n" if "\r\n" in text and len(ends) == 1 else "\n"
    if "\r" in text and line_end == "\n":
        raise UsageError(say("document.ends", name=name), say("document.ends.hint"))
    return Document(path, text.replace("\r\n", "\n"), _digest(data), line_end, mark)


def digest(path: str) -> str:
    """What the file is now, as one word; empty when it is not there."""
    try:
        return _digest(_bytes(path))
    except JigError:
        return ""


def write(before: Document, text: str) -> Document:
    """Write the text beside the file and rename it into its place, with the mode and line ends that it had."""
    data = before.mark + text.replace("\n", before.line_end).encode("utf-8")
    aside = os.path.join(os.path.dirname(before.path), f".{os.path.basename(before.path)}.{os.getpid()}.new")
    try:
        mode = os.stat(before.path).st_mode & 0o7777 if os.path.exists(before.path) else None
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if mode is None else mode), "wb") as f:
                f.write(data)
            os.chmod(aside, mode if mode is not None else 0o644)
            os.replace(aside, before.path)
        except OSError:
            if os.path.lexists(aside):
                os.unlink(aside)
            raise
    except OSError as error:
        raise JigError(say("document.write", name=os.path.basename(before.path), why=error.strerror)) from error
    return before._replace(text=text, digest=_digest(data))


def create(path: str, is_folder: bool) -> None:
    """Make an empty file, or a folder, with the folders above it; what is there already is not touched."""
    try:
        if is_folder:
            os.makedirs(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "x").close()
    except OSError as error:
        raise JigError(say("document.make", name=os.path.basename(path), why=error.strerror)) from error


def rename(path: str, to: str) -> None:
    """Give it another name or place; what has that name is not touched."""
    if os.path.lexists(to):
        raise UsageError(say("document.exists", name=os.path.basename(to)), say("document.exists.hint"))
    try:
        os.makedirs(os.path.dirname(to), exist_ok=True)
        os.rename(path, to)
    except OSError as error:
        raise JigError(say("document.rename", name=os.path.basename(path), why=error.strerror)) from error


def delete(path: str) -> None:
    """Delete a file, or a folder with all in it."""
    import shutil

    try:
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    except OSError as error:
        raise JigError(say("document.delete", name=os.path.basename(path), why=error.strerror)) from error


def _bytes(path: str) -> bytes:
    try:
        if os.path.lexists(path) and not os.path.isfile(path):
            raise UsageError(say("document.special", name=os.path.basename(path)))
        with open(path, "rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise JigError(say("document.read", name=os.path.basename(path), why=error.strerror)) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
