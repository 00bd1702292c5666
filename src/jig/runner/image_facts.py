"""What an image has inside, asked once by a short container of it and kept: its users, variables, Pythons, C library.

images/<id>.json    the facts
images/<id>.used    locked, shared, by each run that uses the image
"""

import os
import sys

from jig.runner.engine import explain, probe_labels
from jig.runner.environment import NotStarted
from jig.runner.folder import make_private
from jig.runner.quick_json import dumps_lines, loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from jig.runner.engine import Engine, Said
    from jig.runner.image import Look

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # the engine's, where an image has none
PART = "jig-part"
SCRIPT = r"""
part() { printf '\n%s %s\n' jig-part "$1"; }
part passwd; cat /etc/passwd 2>/dev/null
part group; cat /etc/group 2>/dev/null
part libc
for file in /lib/ld-musl-*; do if [ -e "$file" ]; then echo musl; fi; done
getconf GNU_LIBC_VERSION 2>/dev/null || for file in /lib/*/libc.so.6 /lib*/libc.so.6 /usr/lib*/libc.so.6; do
  if [ -x "$file" ]; then "$file" 2>/dev/null; break; fi
done
part pythons
for name in python python3; do
  path=$(command -v "$name") && printf '%s\t%s\t%s\n' "$name" "$path" "$("$path" -V 2>&1)"
done
part end
"""
_FIND = 'if [ -x "$1" ] && [ ! -d "$1" ]; then echo "$1"; else command -v -- "$1"; fi'
ANSWER_S = 60.0


def of(engine: "Engine", home: str, image_id: str) -> "Optional[Dict[str, Any]]":
    """The facts of an image; None when the engine does not have it."""
    known = read(home, image_id)
    if known:
        return known
    said = engine.call("image", "inspect", "--format", "{{json .Config}}", image_id)
    if said.code:
        return None
    config = loads(said.out) or {}
    said = _ask_inside(engine, home, image_id, SCRIPT)
    if said.code and is_no_shell(said.err):
        return keep(home, image_id, config, _without_shell(engine, home, image_id))
    if said.code and PART.encode() not in said.out:
        raise explain(said.err)
    return keep(home, image_id, config, parse(said.out.decode("utf-8", "surrogateescape")))


def _ask_inside(engine: "Engine", home: str, image_id: str, *script: str) -> "Said":
    """What a shell in a container of the image prints; `clean` knows the container if we are killed meanwhile."""
    words = ["run", "--rm", "--network", "none", "--log-driver", "none", *probe_labels(home), "--entrypoint", "/bin/sh"]
    return engine.call(*words, image_id, "-c", *script, timeout_s=ANSWER_S)


def is_no_shell(err: str) -> bool:
    """Whether the engine says that an image has no shell."""
    return "/bin/sh" in err and "no such file" in err


def parse(text: str) -> "Dict[str, Any]":
    """The facts from what the script prints."""
    parts: "Dict[str, List[str]]" = {}
    lines: "List[str]" = []
    for line in text.split("\n"):
        if line.startswith(PART + " "):
            if lines and not lines[-1]:
                lines.pop()  # the line break that the mark begins with
            lines = parts.setdefault(line[len(PART) + 1 :], [])
        else:
            lines.append(line)
    rows = [line.split("\t") for line in parts.get("pythons", []) if line.count("\t") == 2]
    return {
        "shell": True,
        "passwd": "\n".join(parts.get("passwd", [])),
        "group": "\n".join(parts.get("group", [])),
        "libc": _libc(parts.get("libc", [])),
        "pythons": {name: {"path": path, "version": _version(said)} for name, path, said in rows},
    }


def _version(said: str) -> str:
    """`3.11.2` of `Python 3.11.2`."""
    words = said.split()
    return words[1] if len(words) > 1 and words[0] == "Python" else ""


def _libc(lines: "List[str]") -> str:
    """As `environment.libc` says it: `glibc 2.36`; `musl`; or nothing."""
    for line in lines:
        words = line.split()
        if line == "musl":
            return line
        if words[:1] == ["glibc"]:
            return line
        if "version" in words and ("GNU C Library" in line or "GNU libc" in line):
            return "glibc " + words[words.index("version") + 1].rstrip(".,")
    return ""


def _without_shell(engine: "Engine", home: str, image_id: str) -> "Dict[str, Any]":
    """What can be told of an image that has no shell: the files that the engine copies out of it."""
    words = ("--network", "none", *probe_labels(home), "--entrypoint", "/-", image_id)
    name = engine.need("create", *words).decode().strip()
    try:
        files = {part: _copied(engine, name, "/etc/" + part) for part in ("passwd", "group")}
    finally:
        engine.call("rm", "-f", "-v", name)
    return dict(files, shell=False, libc="", pythons={})


def _copied(engine: "Engine", container: str, path: str) -> str:
    import io
    import tarfile

    said = engine.call("cp", "-L", "%s:%s" % (container, path), "-")
    if said.code:  # it has no such file
        return ""
    with tarfile.open(fileobj=io.BytesIO(said.out)) as archive:
        content = archive.extractfile(archive.getmembers()[0])
        return content.read().decode("utf-8", "replace").rstrip("\n") if content else ""


def keep(home: str, image_id: str, config: "Dict[str, Any]", facts: "Dict[str, Any]") -> "Dict[str, Any]":
    """Write the facts down; returns them, with what the engine says of the image itself."""
    env = dict(pair.partition("=")[::2] for pair in config.get("Env") or ())
    env.setdefault("PATH", SEARCH_PATH)
    facts = dict(facts, env=env, path=env["PATH"], user=config.get("User") or "")
    _write(_place(home, image_id, "json"), dumps_lines(facts))
    return facts


def _write(path: str, text: str) -> None:
    make_private(os.path.dirname(path))
    aside = "%s.%d" % (path, os.getpid())
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    os.replace(aside, path)


def read(home: str, image_id: str) -> "Dict[str, Any]":
    """What is known of an image already; nothing when it was never asked."""
    try:
        with open(_place(home, image_id, "json"), "rb") as file:
            return dict(loads(file.read()))
    except (FileNotFoundError, ValueError):
        return {}


def _place(home: str, image_id: str, ending: str) -> str:
    return os.path.join(home, "images", "%s.%s" % (image_id.rpartition(":")[2], ending))


def hold(home: str, image_id: str) -> int:
    """A descriptor that keeps `clean` from removing the image while it is open; its file's time is that of the use."""
    from jig.system import lock

    path = _place(home, image_id, "used")
    make_private(os.path.dirname(path))
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        lock(descriptor, shared=True)
        os.utime(descriptor)
        try:
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # it was removed while we waited


def take(home: str, image_id: str) -> "Optional[int]":
    """A descriptor that keeps every run from beginning to use the image; None while one does."""
    from jig.system import lock

    path = _place(home, image_id, "used")
    make_private(os.path.dirname(path))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if lock(descriptor, wait=False):
        return descriptor
    os.close(descriptor)
    return None


def used(home: str, image_id: str) -> float:
    """When a run began to use the image last; 0 when none has."""
    try:
        return os.stat(_place(home, image_id, "used")).st_mtime
    except FileNotFoundError:
        return 0.0


def forget(home: str, image_id: str) -> None:
    """Remove what is kept of an image that is gone."""
    for ending in ("json", "packages.json", "used"):
        try:
            os.unlink(_place(home, image_id, ending))
        except FileNotFoundError:
            continue


def find_python(found: "Look", facts: "Dict[str, Any]") -> str:
    """The full path, inside, of the interpreter that `pythonLocation` names; NotStarted says why there is none."""
    location = found.environment["python"] or "python"
    if not location.startswith("/") and "/" in location:
        raise NotStarted(
            "pythonLocation %r is a relative path: write the full path of an interpreter in the image %s"
            % (location, found.base)
        )
    if not facts["shell"] and location.startswith("/"):
        return location  # nobody inside could be asked
    names = ("python", "python3") if location == "python" else (location,)
    old = ""
    for name in names:
        path = _find(found, facts, name)
        version = facts["pythons"].get(name, {}).get("version", "")
        if path and not _is_old(version):
            return path
        old = old or path and "%s in the image %s is Python %s" % (path, found.base, version)
    if old:
        raise NotStarted(
            "%s, and scripts need 3.5 or newer: name another image in baseDockerImage, set pythonLocation to the full "
            "path of a newer interpreter in it, or set userManagedEnvironment: false" % old
        )
    if location.startswith("/"):
        raise NotStarted(
            "there is no interpreter at %s (pythonLocation) in the image %s%s" % (location, found.base, _others(facts))
        )
    raise NotStarted(
        "there is no %s in the search path (%s) of the image %s" % (" and no ".join(names), facts["path"], found.base),
        "set pythonLocation to the full path of an interpreter in it, name an image with Python in baseDockerImage, or "
        "set userManagedEnvironment: false",
    )


def _is_old(version: str) -> bool:
    """Whether the first process of a container, which is jig's, does not run on it."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return len(numbers) == 2 and numbers < [3, 5]


def _others(facts: "Dict[str, Any]") -> str:
    paths = [about["path"] for about in facts["pythons"].values()]
    return ": it has %s" % " and ".join(paths) if paths else ""


def _find(found: "Look", facts: "Dict[str, Any]", name: str) -> str:
    """A program inside, full path; empty when there is none. What was found is kept with the facts."""
    if name in facts["pythons"]:
        return str(facts["pythons"][name]["path"])
    if name in ("python", "python3") or not facts["shell"]:
        return ""
    programs = facts.setdefault("programs", {})
    if name not in programs:
        said = _ask_inside(found.engine, found.home, found.image_id, _FIND, "sh", name)
        programs[name] = said.out.decode("utf-8", "replace").strip()
        _write(_place(found.home, found.image_id, "json"), dumps_lines(facts))
    return str(programs[name])
