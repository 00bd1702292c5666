"""pip's own settings, read as pip reads them and translated for uv, which does not look at them.

What of them decides which packages are installed is part of an environment's name, so they are read at each run:
nothing is imported here that takes time.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Sequence

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")
INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL")
# Those of uv's variables that decide which packages, and which files of them, are installed.
_FILES = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "UV_EXCLUDE")
_CHOICES = ("UV_FIND_LINKS", "UV_NO_INDEX", "UV_INDEX_STRATEGY", "UV_PRERELEASE", "UV_RESOLUTION", "UV_EXCLUDE_NEWER")
_BUILDS = ("UV_NO_BINARY", "UV_NO_BINARY_PACKAGE", "UV_NO_BUILD", "UV_NO_BUILD_PACKAGE", "UV_TORCH_BACKEND")
_DECIDING = INDEXES + _FILES + _CHOICES + _BUILDS


_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/"


class PipSettingsUnreadable(Exception):
    """pip itself would refuse these settings; the text is one sentence."""


def uv_environment(environ: "Dict[str, str]", home_dir: str, options: "Sequence[str]" = ()) -> "Dict[str, str]":
    """The environment to start uv with: `environ`, and pip's settings as the variables that uv reads.

    The options of the conda file come first, then what the user set for uv, then pip's variables, then its files. As
    with pip, an `--index-url` of the file replaces every index of the machine, and other indexes and hosts add up.
    """
    settings = read_settings(environ, home_dir)
    asked = _Options(options, environ)
    result = dict(environ)

    def put(names: "Sequence[str]", value: str) -> None:
        """Set the first name, unless the user has set one of them."""
        if value and not any(environ.get(name) for name in names):
            result[names[0]] = value

    put(("UV_DEFAULT_INDEX", "UV_INDEX_URL"), settings.get("index-url", ""))
    put(("UV_INDEX", "UV_EXTRA_INDEX_URL"), " ".join(settings.get("extra-index-url", "").split()))
    put(("UV_INSECURE_HOST",), " ".join(settings.get("trusted-host", "").split()))
    put(("UV_PRERELEASE",), "allow" if _flag(settings, "pre") else "")
    put(("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT"), _seconds(settings))
    put(("UV_HTTP_RETRIES",), settings.get("retries", ""))
    put(("UV_CONSTRAINT",), " ".join(_place(word, home_dir) for word in settings.get("constraint", "").split()))
    # pip takes the best version that any index has, uv by default only looks at the first that has the package.
    chosen = any(line.startswith("index-strategy") for line in uv_settings(environ, home_dir))
    put(("UV_INDEX_STRATEGY",), "" if chosen else "unsafe-best-match")
    if asked.last("--index-url"):
        for name in INDEXES:
            result.pop(name, None)
        result["UV_DEFAULT_INDEX"] = asked.last("--index-url")
    for option, name in (("--extra-index-url", "UV_INDEX"), ("--trusted-host", "UV_INSECURE_HOST")):
        if asked.all(option):
            result[name] = " ".join(asked.all(option) + result.get(name, "").split())
    if asked.has("--pre"):
        result["UV_PRERELEASE"] = "allow"
    result.update(_certificates(settings, environ, home_dir))
    result.update(_proxies(settings))
    return result


def uv_lines(environ: "Dict[str, str]", home_dir: str, options: "Sequence[str]" = ()) -> "List[str]":
    """What uv only takes, or takes in every version alike, as lines of a requirements file."""
    settings = read_settings(environ, home_dir)
    asked = _Options(options, environ)
    links = asked.all("--find-links")
    if not environ.get("UV_FIND_LINKS"):
        links = links + settings.get("find-links", "").split()
    lines = ["--find-links " + _as_url(link, home_dir) for link in links]
    for option in ("only-binary", "no-binary"):
        lines += ["--%s %s" % (option, name) for name in settings.get(option, "").replace(",", " ").split()]
    return (["--no-index"] if asked.has("--no-index") or _flag(settings, "no-index") else []) + lines


def deciding(environ: "Dict[str, str]", home_dir: str, options: "Sequence[str]" = ()) -> "List[str]":
    """What of this machine's settings decides which packages are installed, without passwords, which may change."""
    given = uv_environment(environ, home_dir, options)
    found = ["%s=%s" % (name, given[name]) for name in _DECIDING if given.get(name)]
    for name in _FILES:
        for path in given.get(name, "").split():
            found += _read_lines(path)
    found += uv_lines(environ, home_dir, options) + uv_settings(environ, home_dir)
    return [" ".join(_without_password(word) for word in line.split()) for line in found]


def _without_password(word: str) -> str:
    scheme, mark, rest = word.partition("://")
    place, slash, path = rest.partition("/")
    return scheme + mark + place.rpartition("@")[2] + slash + path.partition("?")[0] if mark else word


def uv_settings(environ: "Dict[str, str]", home_dir: str) -> "List[str]":
    """The lines of uv's own files that say anything."""
    if environ.get("UV_NO_CONFIG"):
        return []
    if environ.get("UV_CONFIG_FILE"):
        return _read_lines(environ["UV_CONFIG_FILE"])
    user = environ.get("XDG_CONFIG_HOME") or os.path.join(home_dir, ".config")
    folders = [path for path in environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep) if path] + ["/etc", user]
    return [line for folder in folders for line in _read_lines(os.path.join(folder, "uv", "uv.toml"))]


def _read_lines(path: str) -> "List[str]":
    """The lines of a file without comments and empty ones; none when there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.strip() for line in file]
    except (FileNotFoundError, NotADirectoryError):  # or it is a URL
        return []
    return [line for line in lines if line and not line.startswith("#")]


def read_settings(environ: "Dict[str, str]", home_dir: str) -> "Dict[str, str]":
    """Every setting that `pip install` would use, by the name of its option."""
    sections: "Dict[str, Dict[str, str]]" = {"global": {}, "install": {}}
    for path in _files(environ, home_dir):
        _read_file(path, sections)
    variables = {_option_name(name[len("PIP_") :]): value for name, value in environ.items() if name.startswith("PIP_")}
    merged: "Dict[str, str]" = {}
    for section in (sections["global"], sections["install"], variables):
        merged.update({name: value for name, value in section.items() if value})  # pip takes an empty value for none
    return merged


def _files(environ: "Dict[str, str]", home_dir: str) -> "List[str]":
    """pip's files on Linux; a later one overrides an earlier one."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    folders = [path for path in environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep) if path] or ["/etc/xdg"]
    files = [os.path.join(folder, "pip", "pip.conf") for folder in folders] + ["/etc/pip.conf"]
    if not (named and os.path.exists(named)):
        user = environ.get("XDG_CONFIG_HOME") or os.path.join(home_dir, ".config")
        files += [os.path.join(home_dir, ".pip", "pip.conf"), os.path.join(user, "pip", "pip.conf")]
    return files + [named] if named else files


def _read_file(path: str, sections: "Dict[str, Dict[str, str]]") -> None:
    if not os.path.exists(path):
        return
    found = quick_sections(path)
    if found is None:
        import configparser

        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            detail = " ".join(str(error).split())
            raise PipSettingsUnreadable("pip's settings in %s cannot be read: %s" % (path, detail))
        found = {name: dict(parser.items(name)) for name in parser.sections()}
    for name, section in sections.items():
        section.update({_option_name(key): value for key, value in found.get(name, {}).items()})


def quick_sections(path: str) -> "Optional[Dict[str, Dict[str, str]]]":
    """What configparser would read, which takes 10 ms to import; None when it must be asked, for it is not so plain."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if not "".join(lines).isprintable():
        return None
    sections, section, key = {}, {}, ""  # type: Dict[str, Dict[str, str]], Dict[str, str], str
    for line in lines:
        bare = line.strip()
        name = bare[1:-1]
        if bare.startswith((";", "#")) or not (bare or key):
            continue
        if key and line[:1] in ("", " "):  # goes on with the value before; an empty line may belong to it
            section[key] += "\n" + bare
        elif line[0] == "[" and bare[-1] == "]" and name and "]" not in name and name not in sections:
            section, key = sections.setdefault(name, {}), ""
        else:
            ends = [place for place in (bare.find("="), bare.find(":")) if place > 0]
            key = bare[: min(ends)].rstrip().lower() if ends else ""
            if line[0] in " [" or not sections or not key or key in section:
                return None
            section[key] = bare[min(ends) + 1 :].strip()
    if "DEFAULT" in sections:
        return None
    return {name: {key: value.rstrip() for key, value in section.items()} for name, section in sections.items()}


def _option_name(name: str) -> str:
    name = name.lower().replace("_", "-")
    name = name[2:] if name.startswith("--") else name
    return {"default-timeout": "timeout", "pypi-url": "index-url"}.get(name, name)


class _Options:
    """The options that stand in the conda file, with `${NAME}` filled in from the environment as pip does."""

    def __init__(self, options: "Sequence[str]", environ: "Dict[str, str]") -> None:
        self._found = [option.partition(" ") for option in options]
        self._environ = environ

    def all(self, name: str) -> "List[str]":
        return [self._fill_in(value) for option, _, value in self._found if option == name]

    def last(self, name: str) -> str:
        return (self.all(name) or [""])[-1]

    def has(self, name: str) -> bool:
        return any(option == name for option, _, _ in self._found)

    def _fill_in(self, value: str) -> str:
        if "${" not in value:
            return value
        import re

        return re.sub(r"\$\{([A-Z0-9_]+)\}", lambda found: self._environ.get(found.group(1)) or found.group(0), value)


def _flag(settings: "Dict[str, str]", name: str) -> bool:
    value = settings.get(name, "no").lower()
    if value not in _TRUE + _FALSE:
        raise PipSettingsUnreadable("pip's setting %s is %r, and neither yes nor no" % (name, value))
    return value in _TRUE


def _seconds(settings: "Dict[str, str]") -> str:
    value = settings.get("timeout", "")
    try:
        return str(max(1, -int(-float(value) // 1))) if value else ""  # whole seconds, rounded up: uv takes no others
    except (OverflowError, ValueError):
        raise PipSettingsUnreadable("pip's setting timeout is %r, and not a number of seconds" % value)


def _certificates(settings: "Dict[str, str]", environ: "Dict[str, str]", home_dir: str) -> "Dict[str, str]":
    found = {}
    bundle = settings.get("cert", "")
    if not bundle and not (environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR")):
        bundle = environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE") or ""  # these work for pip too
    if bundle:
        bundle = _full_path(bundle, home_dir)
        found["SSL_CERT_DIR" if os.path.isdir(bundle) else "SSL_CERT_FILE"] = bundle
    if settings.get("client-cert"):
        found["SSL_CLIENT_CERT"] = _full_path(settings["client-cert"], home_dir)
    return found


def _proxies(settings: "Dict[str, str]") -> "Dict[str, str]":
    proxy = settings.get("proxy", "")
    if not proxy:
        return {}
    proxy = proxy if "://" in proxy else "http://" + proxy
    # The lower-case names come first where both are set, and pip's setting overrides either.
    return dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)


def _full_path(path: str, home_dir: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home_dir + path[1:]
    return os.path.normpath(os.path.join(home_dir, path))


def _place(place: str, home_dir: str) -> str:
    return place if "://" in place else _full_path(place, home_dir)


def _as_url(place: str, home_dir: str) -> str:
    """A path as a URL, so that no space or comma in it can be taken for something else."""
    if "://" in place or place.startswith("file:"):
        return place
    return "file://" + file_url_path(_full_path(place, home_dir))


def file_url_path(path: str) -> str:
    """The path as a URL spells it (as `urllib.parse.quote` would, which takes 10 ms to import)."""
    return "".join(chr(byte) if byte in _PLAIN else "%%%02X" % byte for byte in os.fsencode(path))
