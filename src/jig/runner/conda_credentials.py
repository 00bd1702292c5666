"""Credentials in the URLs of conda channels: sent with requests, and in nothing that is kept or said.

rattler itself would write the URL with its password into its cache and into the environment.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Optional, Tuple

# scheme, user:password, host, token, path
_CHANNEL = re.compile(r"(?i)^(https?://)(?:([^/]*)@)?([^/@]+)(?:/t/([^/]+))?(/.*)?$")


class Credentials:
    """The channels without their credentials, and what goes with a request to each of them."""

    def __init__(self, urls: "Iterable[str]") -> None:
        self.channels: "List[str]" = []
        self.mirrors: "Dict[str, List[str]]" = {}
        self._logins: "List[Tuple[str, str, str]]" = []
        for url in urls:
            channel = without_credentials(url)
            self.channels.append(channel)
            found = _CHANNEL.match(url)
            if found and found.group(4):
                self.mirrors[channel] = [_join(found.group(1), found.group(3), "/t/" + found.group(4), found.group(5))]
            if found and found.group(2):
                host = re.sub(r":\d+$", "", found.group(3)).lower()
                self._logins.append((host, (found.group(5) or "").rstrip("/") + "/", _basic(found.group(2))))

    def headers(self, host: str, path: str) -> "Optional[Dict[str, str]]":
        """What a request to this place must carry."""
        for login_host, folder, value in self._logins:
            if host.lower() == login_host and path.startswith(folder):
                return {"Authorization": value}
        return None


def without_credentials(url: str) -> str:
    """A channel's URL without `user:password@` and without `/t/TOKEN`."""
    found = _CHANNEL.match(url)
    return _join(found.group(1), found.group(3), "", found.group(5)) if found else url


def hide_credentials(text: str) -> str:
    """The text with the credentials of every URL in it blotted out."""
    text = re.sub(r"(://)[^/\s]+@", r"\1***@", text)
    return re.sub(r"(://[^/\s]+/t/)[^/\s]+", r"\1***", text)


def _join(scheme: str, host: str, token: str, path: "Optional[str]") -> str:
    return scheme + host + token + (path or "")


def _basic(login: str) -> str:
    from base64 import b64encode
    from urllib.parse import unquote

    user, _, password = login.partition(":")
    return "Basic " + b64encode("{}:{}".format(unquote(user), unquote(password)).encode("utf-8")).decode("ascii")
