"""Solving a conda environment for a machine: which files, from where, with which hashes. Done by a child process."""

from __future__ import annotations

import os
import sys

from jig.environments import Environment
from jig.errors import PackagesError
from jig.runner.folder import default_home, make_private
from jig.runner.rattler_tool import CERTIFICATES, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# rattler ends the interpreter that has used it with a crash now and then, so that it gets one of its own.
WORK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runner", "rattler_work.py")


def solve(
    environment: Environment, platform: str, virtual: dict[str, str], tell: Callable[[str], None], **more: Any
) -> list[dict[str, Any]]:
    """The records of the packages to install there; PackagesError says in a sentence why there are none."""
    cache = os.path.join(default_home(), "cache", "conda")
    make_private(cache)
    tell(f"solving {len(environment.packages)} packages for {platform}")
    request = {
        "do": "solve",
        "channels": list(environment.channels),
        "specs": list(environment.packages),
        "platform": platform,
        "virtual": virtual,
        "cache": cache,
        **more,
    }
    for answer in work(request):
        if "records" in answer:
            records: list[dict[str, Any]] = answer["records"]
            return records
        if "error" in answer:
            raise PackagesError(answer["error"], _advice(environment, answer["error"]))
        if "note" in answer:
            tell(str(answer["note"]))
    raise PackagesError("the solver ended without an answer")


def _advice(environment: Environment, error: str) -> str:
    if "cannot be reached" not in error:
        return "jig environment check looks the conda file over"
    from jig.environments.conda_packages import parse

    found = [parse(text.rpartition("::")[2]) for text in environment.packages]
    names = [package.name for package in found if package is not None and package.name not in ("python", "pip")]
    advice = "are you online? a proxy is taken from https_proxy, a mirror of the channels from ~/.condarc"
    return f"{advice}; under `- pip:` no channel is needed for {', '.join(names)}" if names else advice


def work(request: dict[str, Any]) -> Any:
    """Have a child process do the request; yields its answers. It ends with us, and Ctrl-C is for us alone."""
    import json
    import subprocess

    from jig.system import end_with

    argv, pipe = (sys.executable, "-I", WORK), subprocess.PIPE
    with subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, start_new_session=True, preexec_fn=end_with(os.getpid())
    ) as child:
        if child.stdin is None or child.stdout is None:
            raise PackagesError("the solver was started without pipes")
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.close()
            for line in child.stdout:
                yield json.loads(line)
        finally:
            child.kill()


def rattler_archive() -> str:
    """An archive of the rattler that is installed here, for machines of this kind that have none; made once."""
    place = os.path.join(default_home(), "cache", f"rattler-{VERSION}.zip")
    if not os.path.exists(place):  # nothing is imported for one that is there: this is on the path of every submit
        import zipfile
        from importlib.metadata import distribution

        make_private(os.path.dirname(place))
        aside = f"{place}.{os.getpid()}"
        found = distribution("py-rattler")
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for file in found.files or ():
                if file.parts[0] == "rattler" and "__pycache__" not in file.parts:
                    archive.write(str(found.locate_file(file)), str(file))
            archive.writestr(CERTIFICATES, _certificates())
        os.replace(aside, place)
    return place


def _certificates() -> str:
    """The authorities that this computer trusts, for a machine that knows none; it compares every file's hash too."""
    import ssl

    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(ssl.DER_cert_to_PEM_cert(one) for one in known)
