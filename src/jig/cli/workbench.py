"""`jig workbench`: the whole thing in a page."""

from __future__ import annotations

import os

from jig.cli.grammar import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args

LOOPBACK = ("127.0.0.1", "::1")
PORTS = range(1, 65536)
STANDARD = {"http": 80, "https": 443}
HOST = r"[a-z0-9._-]+|[0-9a-f:]+"


def workbench(args: Args) -> int:
    """Serve the Workbench until Ctrl-C."""
    from importlib.util import find_spec

    from jig.errors import JigError, UsageError

    host = args.text("host") or LOOPBACK[0]
    host = LOOPBACK[0] if host == "localhost" else host
    if host not in LOOPBACK and not args.flag("understood"):
        raise UsageError(
            f"--host {host} lets other computers reach the Workbench, and with it your files and a shell, unencrypted",
            "through `ssh -L` nothing need be opened; add --i-understand if it is to be so",
        )
    number = port(args.text("port"))
    shown = origin(args.text("origin"))
    folder = args.text("project") or _around()
    if find_spec("nicegui") is None:
        raise JigError("the Workbench is not installed", "pip install 'jig-workbench[app]'")
    from jig.workbench.serve import start

    return start(folder, host, number, not args.flag("quiet"), shown)


def port(written: str | None) -> int | None:
    """The number that was given to --port; None when none was."""
    from jig.errors import UsageError

    if written is None:
        return None
    if not written.isascii() or not written.isdecimal() or int(written) not in PORTS:
        raise UsageError(f"--port cannot be {written!r}", "a port is a number from 1 to 65535")
    return int(written)


def origin(written: str | None) -> str:
    """What was given to --origin as a browser writes it; empty when nothing was."""
    import re
    from urllib.parse import urlsplit

    from jig.errors import UsageError

    if written is None:
        return ""
    wrong = UsageError(
        f"--origin cannot be {written!r}", "write it as https://gpu.example.org or http://localhost:9000"
    )
    try:
        parts = urlsplit(written)
        number = parts.port
    except ValueError:
        raise wrong from None
    host = parts.hostname or ""
    rest = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in STANDARD or not re.fullmatch(HOST, host) or number == 0 or rest:
        raise wrong
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" + ("" if number in (None, STANDARD[parts.scheme]) else f":{number}")


def _around() -> str | None:
    """The project of the current folder, if it is in one."""
    from jig.errors import UsageError
    from jig.project import Project

    try:
        return Project.find(os.getcwd()).root
    except (UsageError, FileNotFoundError):
        return None


COMMAND = Command(
    "workbench",
    "Open projects, runs and machines in the browser.\n\n"
    "Serves a page on this computer only, and opens it. The address that is printed has a token in it, another one at "
    "each start: who has it can do all that you can do with jig. Ctrl-C ends the server; runs go on.",
    workbench,
    (
        Option(
            ("--project",),
            "project",
            "The folder of the project to open; the one around the current folder when not given.",
            "DIR",
            complete="dir",
        ),
        Option(("--no-browser",), "quiet", "Only print the address."),
        Option(("--port",), "port", "Listen on this port; on that of last time or any free one when not given.", "N"),
        Option(("--host",), "host", "Listen on this address instead of the loopback.", "H"),
        Option(
            ("--origin",),
            "origin",
            "What a browser sees before the first slash, where a proxy or a tunnel with another port stands in front.",
            "URL",
        ),
        Option(("--i-understand",), "understood", "Let other computers in, where --host does."),
    ),
    (),
    (
        "jig workbench",
        "jig workbench --project mnist --no-browser --port 8080",
        "jig workbench --no-browser --port 8080 --origin https://gpu.example.org",
    ),
)
