"""What this machine's user has set for uv and pip, laid out for a container in which their files are not to be seen."""

import os
import sys

from jig.runner import image_places, pip_settings
from jig.runner.engine_proxies import PROXIES, docker_proxies
from jig.runner.image_words import BUILD, CACHE

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict

    Seen = Callable[[str], str]

# Variables that are for uv or pip, and those of them that are about this machine's own places.
_KEPT = ("UV_", "PIP_", "SSL_CERT_", "SSL_CLIENT_CERT", "HTTP_TIMEOUT", "PYTHONNOUSERSITE", "NO_COLOR")
_DROPPED = (
    *("UV_CACHE_DIR", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON_BIN_DIR", "UV_PYTHON_CACHE_DIR"),
    *("UV_LINK_MODE", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_INSTALL_DIR", "UV_CREDENTIALS_DIR", "PIP_CONFIG_FILE"),
)
_HOME, _SYSTEM = "home", "system"  # folders of the staging folder


def is_kept(name: str) -> bool:
    """Whether a variable of this machine means something inside."""
    return name not in _DROPPED and (name.startswith(_KEPT) or name.upper() in PROXIES)


def lay_out(staging: str, seen: "Seen") -> None:
    """A home for the programs inside: with the logins to indexes that this user has, and uv's own settings."""
    home_dir, home = os.path.expanduser("~"), os.path.join(staging, _HOME)
    for folder in (home, os.path.join(staging, "tmp")):
        os.mkdir(folder, 0o700)
    _copy(os.environ.get("NETRC") or os.path.join(home_dir, ".netrc"), os.path.join(home, ".netrc"))
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home_dir, ".local", "share")
    logins = os.environ.get("UV_CREDENTIALS_DIR") or os.path.join(data, "uv", "credentials")
    for name in os.listdir(logins) if os.path.isdir(logins) else ():
        _copy(os.path.join(logins, name), os.path.join(home, ".local", "share", "uv", "credentials", name))
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home_dir, ".config")
    _copy(os.path.join(config, "uv", "uv.toml"), os.path.join(home, ".config", "uv", "uv.toml"), seen)
    folders = [path for path in os.environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep) if path] + ["/etc"]
    for folder in folders:  # uv takes the first
        _copy(os.path.join(folder, "uv", "uv.toml"), os.path.join(staging, _SYSTEM, "uv", "uv.toml"), seen)


def _copy(source: str, target: str, seen: "Seen" = str) -> None:
    if not os.path.isfile(source) or os.path.exists(target):
        return
    os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
    with open(source, encoding="utf-8", errors="surrogateescape") as file:
        text = seen(file.read())
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def variables(given: "Dict[str, str]", seen: "Seen") -> "Dict[str, str]":
    """What uv or pip is started with inside, beside the image's own variables."""
    kept = {name: value for name, value in given.items() if is_kept(name)}
    for name, value in docker_proxies().items():
        if not (kept.get(name) or kept.get(name.lower())):
            kept[name] = value
    settings = pip_settings.read_settings(given, os.path.expanduser("~"))  # pip inside sees none of these files
    kept.update({"PIP_" + name.upper().replace("-", "_"): value for name, value in settings.items()})
    kept = {name: seen(value) for name, value in kept.items()}
    bundle = image_places.certificates()
    if bundle and not (kept.get("SSL_CERT_FILE") or kept.get("SSL_CERT_DIR")):
        kept["SSL_CERT_FILE"] = seen(bundle)
        kept.setdefault("PIP_CERT", seen(bundle))
    home = "%s/%s" % (BUILD, _HOME)
    kept.update(
        HOME=home,
        TMPDIR=BUILD + "/tmp",
        PIP_CONFIG_FILE=os.devnull,
        PIP_CACHE_DIR=CACHE + "/pip",
        UV_CACHE_DIR=CACHE,
        XDG_CONFIG_HOME=home + "/.config",
        XDG_CONFIG_DIRS="%s/%s" % (BUILD, _SYSTEM),
        XDG_DATA_HOME=home + "/.local/share",
    )
    return kept
