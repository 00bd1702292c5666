"""The files of this machine that building an image needs, and what they are called in the container where it is built.

All of them are below one folder there, which is none of the image's: nothing of them stays in it.
"""

import os
import re
import sys

from jig.runner.image_words import TOP, mount
from jig.runner.pip_settings import file_url_path

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Pattern

CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_FILE_URL = re.compile(r"file:(?://(?:localhost)?)?(/[^\s,;#?\"'\]]*)")
_EDGE = r"[\w.%~-]"  # a name does not end where one of these follows


class Places:
    """Files and folders by their path on this machine."""

    def __init__(self) -> None:
        self.inside: "Dict[str, str]" = {}
        self.writable: "List[str]" = []
        self._names: "Dict[str, str]" = {}  # how each is written, plainly and in a URL
        self._pattern: "Pattern[str]" = re.compile("(?!)")

    def put(self, path: str, inside: str, writable: bool = False) -> str:
        """Call a file or folder so inside."""
        self.inside[path] = inside
        if writable:
            self.writable.append(path)
        self._names[path] = inside
        self._names[file_url_path(path)] = file_url_path(inside)
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("(?<!%s)(?:%s)(?!%s)" % (_EDGE, "|".join(map(re.escape, longest_first)), _EDGE))
        return inside

    def replace(self, path: str, other: str) -> None:
        """Have another file there in the place of one."""
        self.inside[other] = self.inside.pop(path)

    def add(self, path: str) -> str:
        """Have a file or folder there under its own last name, which may matter."""
        path = path.rstrip("/") or "/"
        known = self.seen(path)
        if known != path:
            return known
        return self.put(path, "%s/%d/%s" % (TOP, len(self.inside), os.path.basename(path)))

    def add_named(self, texts: "Iterable[str]", around: bool = False) -> None:
        """Have every file there that these texts name, by path or by URL; `around`: with what lies beside it.

        The pages of an index, in a folder, link to files in the folders beside it.
        """
        from urllib.parse import unquote

        for text in texts:
            named = [unquote(path) for path in _FILE_URL.findall(text)]
            named += [word for word in re.split(r"[\s,]+", text) if word.startswith("/")]
            for path in named:
                if len(path.rstrip("/")) > 1 and os.path.exists(path):
                    folder = os.path.dirname(path.rstrip("/"))
                    beside = (around or path.endswith((".html", ".htm"))) and folder != "/"
                    self.add(folder if beside else path)

    def seen(self, text: str) -> str:
        """The text with these files called as they are inside."""
        return self._pattern.sub(lambda found: self._names[found.group(0)], text)

    def mounts(self) -> "List[str]":
        """The words that have the engine mount them."""
        words = ["--tmpfs", TOP]  # the places to mount at are made in it, and so not in the image
        for path, inside in self.inside.items():
            words += ["--mount", mount(path, inside, readonly=path not in self.writable)]
        return words


def certificates() -> str:
    """The certificates that this machine trusts, in one file; empty when it has none."""
    return next((path for path in CERTIFICATES if os.path.isfile(path)), "")
