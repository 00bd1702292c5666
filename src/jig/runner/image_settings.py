"""What this machine's user has set for uv and pip, laid out for a container in which their files are not to be seen."""

import os
import sys

from jig.runner import image_places, pip_settings
from jig.runner.image_words import BUILD, CACHE
from jig.runner.quick_json import loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List

    Seen = Callable[[str], str]

# Variables that are for uv or pip, and those of them that are about this machine's own places.
_KEPT = ("UV_", "PIP_", "SSL_CERT_", "SSL_CLIENT_CERT", "HTTP_TIMEOUT", "PYTHONNOUSERSITE", "NO_COLOR")
_DROPPED = (
    *("UV_CACHE_DIR", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON_BIN_DIR", "UV_PYTHON_CACHE_DIR"),
    *("UV_LINK_MODE", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_INSTALL_DIR", "UV_CREDENTIALS_DIR", "PIP_CONFIG_FILE"),
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY")
# The same in the settings of the docker program.
_DOCKER_PROXIES = ("httpProxy", "httpsProxy", "ftpProxy", "allProxy", "noProxy")
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
    for name, value in _docker_proxies().items():
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


def _docker_settings() -> "Dict[str, Dict[str, str]]":
    folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    try:
        with open(os.path.join(folder, "config.json"), "rb") as file:
            found = loads(file.read())
    except (OSError, ValueError):  # the docker program itself complains of it
        return {}
    proxies = found.get("proxies") if isinstance(found, dict) else None
    return proxies if isinstance(proxies, dict) else {}


def _docker_proxies() -> "Dict[str, str]":
    """The proxies that this user has set for containers."""
    default = _docker_settings().get("default") or {}
    return {name: default[key] for name, key in zip(PROXIES, _DOCKER_PROXIES) if default.get(key)}


def no_proxies(base: "Dict[str, str]", sudo: bool) -> "List[str]":
    """The words that keep the docker program from putting its user's proxies, and their passwords, into the image.

    `base` are the variables of the base image, which stay as they are.
    """
    if not sudo and not _docker_settings():  # whose settings sudo's are nobody can see
        return []
    words: "List[str]" = []
    for name in [spelled for proxy in PROXIES for spelled in (proxy, proxy.lower())]:
        if name in base:
            words += ["--env", "%s=%s" % (name, base[name])]
        else:  # without a value it is taken away, but for one that the docker program has itself
            words += ["--env", name + "=" if name in os.environ and not sudo else name]
    return words
