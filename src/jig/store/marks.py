"""What a person may say of a run afterwards: which tags and notes are ones."""

from __future__ import annotations

from jig.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_NAME = 250
LONGEST_TAG = 5_000
LONGEST_NOTE = 100_000


def tags(words: Sequence[str], removed: Sequence[str]) -> dict[str, str | None]:
    """Tags written as `name=value`, and names of those to remove; UsageError for what is none."""
    said: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word[:80]!r} is no tag: it has no value", f"write it as  {name[:80] or 'name'}=value")
        _check_text("the value of a tag", value, LONGEST_TAG)
        said[name] = value
    for name in removed:
        if name in said:
            raise UsageError(f"the tag {name[:80]!r} is to be set and to be removed", "name it once")
        said[name] = None
    for name in said:
        _check_name(name)
    return said


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a tag: it is empty, begins or ends with a space, or has a character "
            "that cannot be seen",
            "for example:  jig history tag -r ID stage=final",
        )
    _check_text("the name of a tag", name, LONGEST_NAME)


def _check_text(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise UsageError(f"{what} has {len(text):,} characters; {most:,} is the most", "keep a longer text in a file")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageError(f"{what} is not UTF-8: {text[:80]!r}")


def check_note(text: str) -> None:
    """UsageError for a note that cannot be kept."""
    _check_text("the note", text, LONGEST_NOTE)
