"""Credentials in the URLs of conda channels: sent with requests, and in nothing that is kept or said.

rattler itself would write the URL with its password into its cache and into the environment.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Optional, Tuple

# scheme, user:password, host, folders before a token, token, path
_CHANNEL = re.compile(r"(?i)^(https?://)(?:([^/]*)@)?([^/@]+)(?:((?:/[^/]+)*?)/t/([^/]+))?(/.*)?$")


class Credentials:
    """The channels without their credentials, and what goes with a request to each of them."""

    def __init__(self, urls: "Iterable[str]") -> None:
        self.channels: "List[str]" = []
        self.mirrors: "Dict[str, List[str]]" = {}
        self._logins: "List[Tuple[str, str, str]]" = []
        for url in urls:
            channel = without_credentials(url)
            self.channels.append(channel)
            scheme, login, host, before, token, path = _parts(url)
            if token:
                self.mirrors[channel] = [scheme + host + before + "/t/" + token + path]
            if login:
                name = re.sub(r":\d+$", "", host).lower()
                self._logins.append((name, (before + path).rstrip("/") + "/", _basic(login)))

    def headers(self, host: str, path: str) -> "Optional[Dict[str, str]]":
        """What a request to this place must carry."""
        for login_host, folder, value in self._logins:
            if host.lower() == login_host and path.startswith(folder):
                return {"Authorization": value}
        return None


def without_credentials(url: str) -> str:
    """A channel's URL without `user:password@` and without `/t/TOKEN`."""
    scheme, _, host, before, _, path = _parts(url)
    return scheme + host + before + path


def hide_credentials(text: str) -> str:
    """The text with the credentials of every URL in it blotted out."""
    text = re.sub(r"(://)[^/\s]+@", r"\1***@", text)
    return re.sub(r"(://\S+?/t/)[^/\s]+", r"\1***", text)


def _parts(url: str) -> "Tuple[str, ...]":
    """Scheme, login, host, folders before a token, token and path; what is no URL is all path."""
    found = _CHANNEL.match(url)
    if not found:
        return ("",) * 5 + (url,)
    scheme, login, host, before, token, path = (part or "" for part in found.groups())
    if before and not path.strip("/"):  # deeper down, `t` may also be a folder, and what follows it the channel
        before, token, path = "", "", before + "/t/" + token + path
    return scheme, login, host, before, token, path


def _basic(login: str) -> str:
    from base64 import b64encode
    from urllib.parse import unquote

    user, _, password = login.partition(":")
    return "Basic " + b64encode("{}:{}".format(unquote(user), unquote(password)).encode("utf-8")).decode("ascii")
