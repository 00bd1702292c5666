"""What an engine can do, found by asking it and by trying with an image that has nothing in it."""

import contextlib
import os

from jig.runner.engine import EngineFailed, explain, home_key, probe_labels
from jig.runner.folder import make_private
from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator

    from jig.runner.engine import Engine

IMPORT_S = 60.0
FOLDERS = ("dev", "etc", "proc", "sys", "tmp", "usr/lib", "var")  # that a GPU runtime may want to put something into


def ask(engine: "Engine", home: str) -> "Dict[str, Any]":
    """Its version, id, kind, runtimes; whether it is rootless, has a bridge and CDI, and `sees` our folders."""
    info = loads(engine.need("info", "--format", "{{json .}}"))
    if info.get("ServerErrors"):  # the program of 20.10 calls that a success
        raise explain(str(info["ServerErrors"][0]))
    if info.get("OSType") == "windows":
        raise EngineFailed("the engine runs Windows containers only", "switch Docker Desktop to Linux containers")
    networks = engine.need("network", "ls", "-q", "-f", "name=^bridge$")
    return {
        "version": str(info.get("ServerVersion", "")),
        "id": str(info.get("ID", "")),
        "kind": str(info.get("OSType", "")),
        "rootless": any("rootless" in str(option) for option in info.get("SecurityOptions") or ()),
        "bridge": bool(networks.strip()),
        "runtimes": sorted(info.get("Runtimes") or ()),
        "cdi": bool(info.get("CDISpecDirs")),
        "sees": _sees(engine, home),
    }


def _sees(engine: "Engine", home: str) -> bool:
    """Whether the engine can mount a folder of this jig home: a file in it must come back out of a container."""
    folder = os.path.join(os.path.abspath(home), "engine")
    make_private(folder)
    nonce = os.urandom(16).hex()
    name = "nonce-%d" % os.getpid()
    with open(os.path.join(folder, name), "w") as file:
        file.write(nonce)
    try:
        with probe_image(engine, home) as image:
            source = ("src=" + folder).replace('"', '""')  # a line of CSV, and the folder may have commas in its name
            mount = 'type=bind,"%s",dst=/jig,readonly' % source
            made = engine.call("create", *probe_labels(home), "--network", "none", "--mount", mount, image, "/jig")
            if made.code:
                return False
            container = made.out.decode().strip()
            try:
                said = engine.call("cp", "%s:/jig/%s" % (container, name), "-")
            finally:
                engine.call("rm", "-f", container)
        return nonce.encode() in said.out
    finally:
        os.remove(os.path.join(folder, name))


@contextlib.contextmanager
def probe_image(engine: "Engine", home: str) -> "Iterator[str]":
    """The id of an image with nothing in it, which goes away again."""
    nvidia_docker_1 = "com.nvidia.volumes.needed=nvidia_driver"  # which gives no GPU to an image without this
    change = "LABEL jig.probe=1 jig.home=%s %s" % (home_key(home), nvidia_docker_1)
    image = engine.need("import", "--change", change, "-", stdin=_nothing(), timeout_s=IMPORT_S).decode().strip()
    try:
        yield image
    finally:
        engine.call("rmi", "-f", image)


def _nothing() -> bytes:
    import io
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return packed.getvalue()
