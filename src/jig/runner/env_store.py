"""The built environments of a jig home: which one stands, which one was changed, which are in use, and removing them.

A look at one that stands is on the path of every run: nothing is imported here that takes time.
"""

import os

from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

ABOUT = "jig-environment.json"  # what is inside; written last, before the folder takes its place
USED = "jig-used"  # its time is that of the last use; a run holds it locked, shared, as long as it lives
SIZE = "jig-size"
PYTHON = os.path.join("Scripts", "python.exe") if os.name == "nt" else os.path.join("bin", "python")
STAGING = ".building-"
REMOVED = ".removed-"
# Where the home is on a disk that other machines see, their locks are not seen here: the time of use must do.
ELSEWHERE_S = 30 * 86400.0
# One that a script has changed stays where it is while a run uses it, and the next is built beside it.
PLACES = 9
# What tells that packages came or went. A package may leave other things among them without having changed anything.
_TELLING = (".dist-info", ".egg-info", ".egg", ".egg-link", ".pth")


def places(root: str) -> "List[str]":
    """Where an environment of this name may stand."""
    return [root] + ["%s-%d" % (root, number) for number in range(1, PLACES)]


def stands(place: str) -> bool:
    """Whether an environment is there that is as it was built, and whose interpreter can be run."""
    # A link to an interpreter that has since been removed does not count: such an environment is built again.
    return os.access(os.path.join(place, PYTHON), os.X_OK) and is_unchanged(place, read_about(place))


def is_changed(place: str) -> bool:
    """Whether an environment is there that was whole once, and into which somebody has installed something since."""
    about = read_about(place)
    return bool(about) and not is_unchanged(place, about)


def read_about(place: str) -> "Dict[str, Any]":
    """What the builder noted; nothing when there is no environment, or a power cut tore it."""
    try:
        with open(os.path.join(place, ABOUT), "rb") as file:
            return dict(loads(file.read()))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}


def is_unchanged(place: str, about: "Dict[str, Any]") -> bool:
    """Whether no package was added, removed or replaced: the folders' times are compared, then what is in them."""
    if not about:
        return False
    times = about["times"]
    same = times == {name: _time(os.path.join(place, name)) for name in times}
    return bool(same or about["inside"] == inside(place, sorted(times)))


def watch(place: str) -> "Dict[str, Any]":
    """The marks by which a later look tells that the environment was changed."""
    names = ["bin", "conda-meta"]
    for parent in ("lib", os.path.join("local", "lib")):  # the second is where Debian's interpreter looks
        for version in _listing(os.path.join(place, parent)):
            for folder in ("site-packages", "dist-packages"):
                names.append(os.path.join(parent, version, folder))
    names = [name for name in names if os.path.isdir(os.path.join(place, name))]
    for name in names:
        if name.endswith("-packages"):  # else the first import changes the time
            os.makedirs(os.path.join(place, name, "__pycache__"), exist_ok=True)
    return {"times": {name: _time(os.path.join(place, name)) for name in names}, "inside": inside(place, sorted(names))}


def inside(place: str, names: "List[str]") -> str:
    """A digest of the packages and programs in these folders."""
    from jig.runner.blobs import sha256

    lines = []
    for name in names:
        for entry in sorted(_listing(os.path.join(place, name))):
            if name == "bin" or entry.endswith(_TELLING) or (name == "conda-meta" and entry.endswith(".json")):
                lines.append("%s/%s %d" % (name, entry, _time(os.path.join(place, name, entry))))
    text = os.fsencode("\n".join(lines))
    return str(sha256(len(text), text).hexdigest())


def _time(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _listing(path: str) -> "List[str]":
    return os.listdir(path) if os.path.isdir(path) else []


def hold(place: str) -> "Optional[int]":
    """Note a use, and keep the environment from being removed while the descriptor is open; None when it is gone."""
    from jig.system import is_network_disk, lock

    path = os.path.join(place, USED)
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if not is_network_disk(place):
            lock(descriptor, shared=True)
        os.utime(path)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):  # else it was removed while we waited
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def in_use(place: str) -> bool:
    """Whether a living run uses it, or one on another machine may."""
    free = _take(place)
    if free is not None:
        os.close(free)
    return free is None


def _take(place: str) -> "Optional[int]":
    """A descriptor that keeps every run from beginning to use it; None when one does already."""
    import time

    from jig.system import is_network_disk, lock

    path = os.path.join(place, USED)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return os.open(os.devnull, os.O_RDONLY)  # there is nothing to use
    if is_network_disk(place):
        free = time.time() - os.fstat(descriptor).st_mtime > ELSEWHERE_S
    else:
        free = lock(descriptor, wait=False)
    if free:
        return descriptor
    os.close(descriptor)
    return None


def listing(home: str) -> "List[Dict[str, Any]]":
    """Every environment that stands whole, the one used last first."""
    found = []
    for place in _folders(home):
        about = read_about(place)
        if not about:  # of an older version, or torn by a power cut
            continue
        found.append(
            {
                "id": os.path.basename(place),
                "path": place,
                "fingerprint": about["fingerprint"],
                "kind": about["kind"],
                "python": about["python"],
                "packages": about["packages"],
                "seconds": about["seconds"],
                "bytes": size(place),
                "built": about["built"],
                "used": _used(place),
                "in_use": in_use(place),
                "changed": not is_unchanged(place, about),
            }
        )
    return sorted(found, key=lambda entry: -float(entry["used"]))


def _folders(home: str) -> "List[str]":
    folder = os.path.join(home, "envs")
    found = [os.path.join(folder, name) for name in _listing(folder) if not name.startswith(".")]
    return [place for place in found if os.path.isdir(place)]


def _used(place: str) -> float:
    for path in (os.path.join(place, USED), place):
        try:
            return os.stat(path).st_mtime
        except FileNotFoundError:
            continue
    return 0.0


def size(place: str) -> int:
    """Bytes on the disk, each file once; counted once, because an environment does not change."""
    noted = os.path.join(place, SIZE)
    try:
        with open(noted) as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        total = sum(size for _, size, _ in files(place))
    try:
        with open(noted + ".new", "w") as file:
            file.write("%d" % total)
        os.replace(noted + ".new", noted)
    except OSError:  # a full disk is when somebody wants to know: it is counted again next time
        return total
    return total


def files(place: str) -> "Iterator[Tuple[Tuple[int, int], int, bool]]":
    """Each file below once: which it is, its bytes on the disk, and whether removing all below here gives them back."""
    seen: "Dict[Tuple[int, int], List[int]]" = {}
    for parent, folders, names in os.walk(place):
        for name in names + folders:
            try:
                status = os.lstat(os.path.join(parent, name))
            except FileNotFoundError:  # a run that uses it has just removed it
                continue
            links = 1 if name in folders else status.st_nlink
            entry = seen.setdefault((status.st_dev, status.st_ino), [getattr(status, "st_blocks", 0) * 512, links, 0])
            entry[2] += 1
    for identity, (size, links, met) in seen.items():
        yield identity, size, met >= links


def prune(home: str, older_than_s: "Optional[float]" = None, keep_bytes: "Optional[int]" = None) -> "Dict[str, Any]":
    """Remove environments that no run uses: those not used for so long, and the least used beyond so many bytes.

    Those that a script has changed go in any case, and so do the leftovers of killed builds. `freed` are the bytes that
    the disk got back; `shared` those of the removed files that a package cache still has.
    """
    import time

    from jig.runner import env_cache

    result: "Dict[str, Any]" = {"removed": [], "freed": env_cache.leftovers(home), "shared": 0}
    seen: "Set[Tuple[int, int]]" = set()
    total = 0
    for place in sorted(_folders(home), key=_used, reverse=True):
        if keep_bytes is not None:
            fresh = [(identity, size) for identity, size, _ in files(place) if identity not in seen]
            seen.update(identity for identity, _ in fresh)
            total += sum(size for _, size in fresh)
        old = older_than_s is not None and time.time() - _used(place) > older_than_s
        too_much = keep_bytes is not None and total > keep_bytes
        if old or too_much or is_changed(place):
            _remove(place, result)
    if older_than_s is not None or keep_bytes is not None:
        packages = env_cache.unused_packages(home, older_than_s or 0.0)
        result["freed"] += packages
        result["shared"] = max(0, result["shared"] - packages)
    return result


def _remove(place: str, result: "Dict[str, Any]") -> None:
    taken = _take(place)
    if taken is None:
        return
    from jig.runner import env_cache

    try:
        aside = os.path.join(os.path.dirname(place), "%s%s-%d" % (REMOVED, os.path.basename(place), os.getpid()))
        os.rename(place, aside)  # first, so that nobody finds half of it
    except FileNotFoundError:  # somebody else was faster
        return
    finally:
        os.close(taken)
    for _, size, given_back in files(aside):
        result["freed" if given_back else "shared"] += size
    env_cache.remove(aside)
    result["removed"].append(os.path.basename(place))
