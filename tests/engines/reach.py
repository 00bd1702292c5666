"""How a container of this machine's network reaches a package index as this machine does: certificates, proxies, pip's settings."""

import configparser
import os
import pwd
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
FILES = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
SETTINGS = ("index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "default-timeout")


class Reach(NamedTuple):
    """Options of `docker run`, and variables for the `docker` program itself, whose values the options do not show."""

    options: "list[str]"
    environ: "dict[str, str]"


def reach() -> Reach:
    """What a container needs that `pip` or `uv` is to run in."""
    environ = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    environ |= {f"PIP_{key.upper().replace('-', '_')}": value for key, value in _settings().items()}
    bundle = os.environ.get("SSL_CERT_FILE", BUNDLE)
    places = [place for value in environ.values() for word in value.split() if (place := _place(word))]
    if os.path.exists(bundle):
        environ |= dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), bundle)
        places.append(bundle)
    mounts = [f"--mount=type=bind,src={place},dst={place},readonly" for place in dict.fromkeys(places)]
    return Reach([*mounts, *(f"--env={name}" for name in environ)], environ)


def _settings() -> "dict[str, str]":
    """pip's, of this machine and of the account that runs the tests; its variables win."""
    home, files = pwd.getpwuid(os.getuid()).pw_dir, configparser.RawConfigParser()
    files.read([name.replace("~", home) for name in FILES])
    found = {}
    for section in ("global", "install"):
        found |= dict(files[section]) if section in files else {}
    found |= {
        name[4:].lower().replace("_", "-"): value for name, value in os.environ.items() if name.startswith("PIP_")
    }
    return {key: found[key] for key in SETTINGS if key in found}


def _place(word: str) -> str:
    """The folder of this machine that a word of the settings means, or nothing."""
    # The pages of an index link to files beside it.
    path = os.path.dirname(unquote(urlsplit(word).path).rstrip("/")) if word.startswith("file:") else word
    return path if path.startswith("/") and Path(path).exists() else ""
