"""Choosing and installing conda packages with rattler, in a process of its own.

Started as `python -I …/jig/runner/rattler_work.py` by a Python >= 3.10 that has py-rattler, or by one that finds it in
the folder `library` of the request. One JSON request comes on stdin, JSON lines go to stdout; the last is the answer:

    {"do": "solve", "channels": [url], "specs": [text], "platform": "linux-64", "virtual": {"__glibc": "2.31"},
     "cache": folder, "locked": [record], "retries": 3, "timeout_s": 300}
        {"note": text}*, {"records": [record]}
    {"do": "install", "records": [record], "prefix": staging, "final": path, "platform": "linux-64", "cache": folder,
     "brought": folder, "channels": [url], "retries": 3, "stall_s": 60}
        {"progress": {"step": "downloading" | "linking", "packages", "of", "bytes", "of_bytes"}}*,
        {"done": {"post_link": [name]}}

or instead {"error": sentence, "detail": text}, with exit code 1. Exit code 70 and a traceback on stderr is a bug.
Keys that are not needed may be left out. A channel's URL may hold credentials; no answer and no file ever does.
"""

import importlib
import json
import os
import sys
import threading

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from jig.runner.conda_credentials import Credentials, hide_credentials, without_credentials  # noqa: E402
from jig.runner.conda_errors import explain_fetch, explain_solve, missing, wrong_hash  # noqa: E402
from jig.runner.conda_progress import Progress  # noqa: E402
from jig.runner.rattler_tool import CERTIFICATES  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

FAILED, BUG = 1, 70
# What installing needs of a package, and what tells a package from any other.
_FIELDS = (
    *("name", "version", "build", "build_number", "subdir", "noarch", "depends", "constrains"),
    *("python_site_packages_path", "sha256", "size", "url", "channel"),
)


class Failed(Exception):
    """It cannot be done; the text is one sentence, `detail` is everything that is known."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail or sentence


def main() -> None:
    """Answer the request on stdin; never returns."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else may print must not get between the answers
    writing = threading.Lock()

    def say(**answer: "Any") -> None:
        try:
            with writing:
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
        except OSError:
            os._exit(FAILED)  # whoever asked is gone

    code = BUG
    try:
        code = _answer(json.loads(sys.stdin.buffer.read().decode("utf-8")), say)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Not an ordinary end: after rattler's threads have worked, that crashes in several of a hundred processes.
        os._exit(code)


def _answer(request: "Dict[str, Any]", say: "Callable[..., None]") -> int:
    import asyncio

    do = {"solve": _solve, "install": _install}[request["do"]]
    try:
        rattler = _load(request.get("library", ""))
        known = tuple(kind for kind in vars(rattler.exceptions).values() if _is_error(kind))
        try:
            asyncio.new_event_loop().run_until_complete(do(rattler, request, say))
        except known as error:
            raise Failed(explain_fetch(str(error)), str(error))
        except OSError as error:
            raise Failed(str(error))
    except Failed as failed:
        say(error=hide_credentials(str(failed)), detail=hide_credentials(failed.detail))
        return FAILED
    return 0


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)


def _load(library: str) -> "Any":
    if library:
        sys.path.insert(0, library)
    try:
        importlib.import_module("rattler.exceptions")
        importlib.import_module("rattler.networking")
        return importlib.import_module("rattler")
    except ImportError as error:
        version = "%d.%d" % sys.version_info[:2]
        raise Failed("Python %s (%s) cannot load py-rattler: %s" % (version, sys.executable, error))


def _client(rattler: "Any", credentials: "Credentials", retries: int) -> "Any":
    try:
        return _make_client(rattler, credentials, retries)
    except ValueError as error:  # it knows no certificate by which it could tell a server from another
        brought = os.path.join(os.path.dirname(os.path.dirname(rattler.__file__)), CERTIFICATES)
        if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or not os.path.exists(brought):
            raise Failed(
                "py-rattler finds no certificates on this machine (%s): install its package ca-certificates, "
                "or set SSL_CERT_FILE there" % error
            )
        os.environ["SSL_CERT_FILE"] = brought
        return _make_client(rattler, credentials, retries)


def _make_client(rattler: "Any", credentials: "Credentials", retries: int) -> "Any":
    parts = rattler.networking
    steps = [parts.RetryMiddleware(retries)]
    if credentials.mirrors:
        steps.append(parts.MirrorMiddleware(credentials.mirrors))
    # What the user has stored for a host (netrc, RATTLER_AUTH_FILE); a login in the channel's URL comes later and wins.
    steps += [parts.AuthenticationMiddleware(), parts.AddHeadersMiddleware(credentials.headers)]
    steps += [parts.OciMiddleware(), parts.GCSMiddleware(), parts.S3Middleware()]
    return parts.Client(steps)


async def _solve(rattler: "Any", request: "Dict[str, Any]", say: "Callable[..., None]") -> None:
    import asyncio
    import datetime
    import pathlib
    import warnings

    warnings.showwarning = lambda message, *more, **also: say(note=hide_credentials(" ".join(str(message).split())))
    specs = [_spec(rattler, text) for text in request["specs"]]
    named = [str(spec.channel.base_url).rstrip("/") for spec in specs if spec.channel]
    credentials = Credentials(request["channels"])
    channels = [channel.rstrip("/") for channel in credentials.channels]
    channels += [channel for channel in dict.fromkeys(named) if channel not in channels]
    # Else the solver is shown only those packages of a name that fit: it would take one from a channel further down,
    # and would say that there are no others.
    every = specs + [rattler.MatchSpec(name) for name in sorted({spec.name.normalized for spec in specs})]
    gateway = rattler.Gateway(
        cache_dir=pathlib.Path(request["cache"], "repodata"),
        client=_client(rattler, credentials, request.get("retries", 3)),
    )
    platforms = [request["platform"], "noarch"]
    timeout_s = request.get("timeout_s", 300)
    solving = rattler.solve(
        sources=channels,
        specs=every,
        gateway=gateway,
        platforms=platforms,
        virtual_packages=[_virtual(rattler, name, text) for name, text in request.get("virtual", {}).items()],
        locked_packages=[_record(rattler, entry) for entry in request.get("locked", [])],
        channel_priority=rattler.ChannelPriority.Strict,
        timeout=datetime.timedelta(seconds=timeout_s),
    )
    try:
        records = await asyncio.wait_for(solving, timeout_s)
    except asyncio.TimeoutError:
        raise Failed("no answer within %g s from %s" % (timeout_s, " and ".join(channels)))
    except rattler.exceptions.SolverError as error:
        there = await _versions(rattler, gateway, channels, platforms, missing(str(error)))
        raise Failed(explain_solve(str(error), request.get("virtual", {}), there), str(error))
    say(records=sorted((_entry(record) for record in records), key=lambda entry: entry["name"]))


def _spec(rattler: "Any", text: str) -> "Any":
    """A requirement as conda reads it, which is less strict than rattler's own way."""
    channel, colons, package = text.rpartition("::")
    try:
        return rattler.MatchSpec(without_credentials(channel) + colons + package)
    except rattler.exceptions.InvalidMatchSpecError as error:
        raise Failed("%r is not a conda package with a version: %s" % (text, error))


def _virtual(rattler: "Any", name: str, text: str) -> "Any":
    version, _, build = text.partition("=")
    return rattler.GenericVirtualPackage(
        rattler.PackageName(name), rattler.Version(version), rattler.BuildString(build or "0")
    )


async def _versions(
    rattler: "Any", gateway: "Any", channels: "List[str]", platforms: "List[str]", wanted: str
) -> "List[str]":
    """What there is of a package that is asked for, oldest first."""
    if not wanted:
        return []
    words = wanted.split()
    found = await gateway.query(channels, platforms, [rattler.MatchSpec(words[0])], recursive=False)
    records = sorted((record for of_channel in found for record in of_channel), key=lambda record: record.version)
    with_build = len(words) > 2
    return list(dict.fromkeys(str(r.version) + (" " + str(r.build) if with_build else "") for r in records))


def _entry(record: "Any") -> "Dict[str, Any]":
    """A package as plain data."""
    fields = json.loads(record.to_json())
    fields.update(url=without_credentials(record.url), channel=without_credentials(record.channel or "").rstrip("/"))
    fields.setdefault("constrains", [])
    if not fields.get("sha256"):
        raise Failed("%s gives no sha256 of %s, so that it could not be checked" % (fields["channel"], fields["fn"]))
    return {name: fields[name] for name in _FIELDS if fields.get(name) is not None}


def _record(rattler: "Any", entry: "Dict[str, Any]") -> "Any":
    package = rattler.PackageRecord(
        entry["name"],
        entry["version"],
        rattler.BuildString(entry["build"]),
        entry["build_number"],
        entry["subdir"],
        noarch=entry.get("noarch"),
        depends=entry.get("depends", []),
        constrains=entry.get("constrains", []),
        sha256=bytes.fromhex(entry["sha256"]),
        size=entry.get("size"),
        python_site_packages_path=entry.get("python_site_packages_path"),
    )
    return rattler.RepoDataRecord(package, _file_name(entry), entry["url"], entry.get("channel", ""))


def _file_name(entry: "Dict[str, Any]") -> str:
    return str(entry["url"]).rpartition("/")[2]


async def _install(rattler: "Any", request: "Dict[str, Any]", say: "Callable[..., None]") -> None:
    import asyncio
    import pathlib

    entries = [_at_hand(entry, request.get("brought", "")) for entry in request["records"]]
    records = [_record(rattler, entry) for entry in entries]
    cache = rattler.PackageCache.new_layered(
        [pathlib.Path(request["cache"], "pkgs")], validation_mode=rattler.ValidationMode.fast()
    )
    cached = await cache.index()
    sizes = {entry["name"]: entry.get("size") or 0 for entry in entries}
    progress = Progress(sizes, {r.name.normalized for r in records if not cached.contains_record(r)}, say)
    installing = asyncio.ensure_future(
        rattler.install(
            records,
            request["prefix"],
            platform=rattler.Subdir(request["platform"]),
            alternative_target_prefix=request["final"],
            package_cache=cache,
            client=_client(rattler, Credentials(request.get("channels", [])), request.get("retries", 3)),
            execute_link_scripts=False,
            show_progress=False,
            reporter=progress,
        )
    )
    stall_s = request.get("stall_s", 60)
    while not (await asyncio.wait({installing}, timeout=min(1, stall_s)))[0]:
        if progress.stalled_s() > stall_s:
            urls = [entry["url"] for entry in entries if entry["name"] in progress.waiting]
            raise Failed("nothing more has come from %s for %g s" % (" and ".join(sorted(urls)), stall_s))
    installing.result()
    tag = os.path.join(request["prefix"], "CACHEDIR.TAG")
    if os.path.exists(tag):
        os.remove(tag)  # it tells backups and searches to leave out what is no cache
    say(done={"post_link": [name for name in sorted(sizes) if _has_post_link(request["prefix"], name)]})


def _at_hand(entry: "Dict[str, Any]", brought: str) -> "Dict[str, Any]":
    """The entry with the URL of the file that is here already, where there is one, and its hash compared.

    rattler compares the hash of what it downloads, but not of a file.
    """
    from urllib.parse import urlsplit
    from urllib.request import pathname2url, url2pathname

    path = os.path.join(brought, _file_name(entry)) if brought else ""
    if path and os.path.exists(path):
        entry = dict(entry, url="file://" + pathname2url(os.path.abspath(path)))
    elif entry["url"].startswith("file:"):
        path = url2pathname(urlsplit(entry["url"]).path)
    if path and os.path.exists(path):
        found = _sha256(path)
        if found != entry["sha256"]:
            raise Failed(wrong_hash(path, entry["sha256"], found))
    return entry


def _sha256(path: str) -> str:
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


def _has_post_link(prefix: str, name: str) -> bool:
    places = (("bin", ".%s-post-link.sh" % name), ("Scripts", ".%s-post-link.bat" % name))
    return any(os.path.exists(os.path.join(prefix, *place)) for place in places)


if __name__ == "__main__":
    main()
