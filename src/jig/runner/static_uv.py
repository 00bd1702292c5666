"""A uv that runs in any Linux image: the build without a C library, fetched by the uv of this machine."""

import os
import sys

from jig.runner import rattler_python, uv_build
from jig.runner.environment import EnvironmentFailed
from jig.runner.folder import make_private

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

    from jig.runner.env_build import Build


def find(build: "Build", uv: str, base: str) -> str:
    """The program, fetched where it is not here yet; raises EnvironmentFailed with what to do."""
    heard: "List[bytes]" = []
    build.child([uv, "--version"], dict(os.environ), heard.append)
    version = b"".join(heard).decode("utf-8", "replace").split()[1]
    tools = os.path.join(build.home, "tools")
    place = os.path.join(tools, "uv-static-" + version)
    program = os.path.join(place, "bin", "uv")
    if os.access(program, os.X_OK):
        return program
    make_private(tools)
    aside = os.path.join(build.staging, "static-uv")
    more = ["--python-platform", os.uname().machine + "-unknown-linux-musl", "--only-binary", ":all:"]
    try:
        uv_build.fetch_tool(build, uv, rattler_python.find_python(build), "uv==" + version, aside, more)
        os.rename(aside, place)
    except (EnvironmentFailed, OSError) as error:
        build.stop_if_asked()
        if not os.access(program, os.X_OK):
            raise EnvironmentFailed(
                "this machine's uv does not run in the image %s, whose C library is another one, and the uv that runs "
                "everywhere could not be fetched: name an image of Debian or Ubuntu in baseDockerImage, such as "
                "python:3.11-slim (%s)" % (base, error)
            )
    return program
