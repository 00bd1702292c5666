"""Credentials in the URLs of pip requirements: they stay in the conda file, and a lock has stars in their place."""

from __future__ import annotations

from jig.environments import without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Secrets:
    """What a conda file's requirements hold of secrets, and what stands for each in the lock."""

    def __init__(self, requirements: Iterable[str]) -> None:
        urls = [word for line in requirements for word in line.split(" ") if "://" in word]
        self._urls = _told_apart(urls)
        # uv adds the commit to the address of a repository: of such a one only the login is found again.
        self._logins = _told_apart([login for login in map(_login, urls) if login])

    def hide(self, line: str) -> str:
        """The line as it can be written down."""
        return _replaced(line, self._urls, self._logins)

    def put_back(self, line: str) -> str:
        """The line as it was before it was hidden."""
        return _replaced(line, _turned(self._urls), _turned(self._logins))


def _told_apart(urls: Iterable[str]) -> dict[str, str]:
    """What stands for each URL that holds a secret; those that differ in nothing else get different stars."""
    found: dict[str, str] = {}
    for url in sorted(set(urls)):
        shown = without_secrets(url)
        if shown != url:
            while shown in found.values():
                shown = shown.replace("***", "****", 1)
            found[url] = shown
    return found


def _login(url: str) -> str:
    """The beginning of a URL, up to the path, if a login stands there."""
    scheme, mark, rest = url.partition("://")
    place, slash, _ = rest.partition("/")
    return scheme + mark + place + slash if "@" in place else ""


def _turned(by: dict[str, str]) -> dict[str, str]:
    return {shown: url for url, shown in by.items()}


def _replaced(line: str, urls: dict[str, str], logins: dict[str, str]) -> str:
    words = line.split(" ")
    for at, word in enumerate(words):
        login = _login(word)
        words[at] = urls.get(word) or logins.get(login, login) + word[len(login) :]
    return " ".join(words)
