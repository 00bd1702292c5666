"""The server: one process on the loopback, one token per start."""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import signal
import socket
import sys

from jig.errors import JigError
from jig.workbench.guard import Guard, written
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import uvicorn

    from jig.workbench.session import Session

LOOPBACK = "127.0.0.1"
NO_NEWS = (  # that a page was left, or the server ended, while it was at work
    "Could not cancel",
    "The parent element this slot belongs to has been deleted",
    "The client this element belongs to has been deleted",
)


def start(
    folder: str | None, host: str = LOOPBACK, port: int | None = None, open_browser: bool = True, shown: str = ""
) -> int:
    """Serve until Ctrl-C. Without a port the one of last time is taken, if it is free, so that open pages go on.

    `shown` is the origin under which a proxy or a tunnel has it, where there is one.
    """
    _settle(os.environ)
    import nicegui
    import uvicorn

    from jig.machines.interrupts import Interrupts
    from jig.workbench.session import Session

    session = Session(folder)
    listener = _listen(host, port, session.kept.port)
    port = listener.getsockname()[1]
    session.keep(session.kept._replace(port=port))
    token = secrets.token_urlsafe(24)
    app = _app(session, host, port, token, shown)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, ws="websockets-sansio")
    url = f"{shown or f'http://{written(host)}:{port}'}/?token={token}"
    nicegui.app.on_startup(lambda: _tell(session, url, open_browser))
    # The server ends in order at Ctrl-C and SIGTERM, and sends them again afterwards.
    with Interrupts() as interrupts:
        try:
            server = uvicorn.Server(config)
            _end_with_terminal(server)
            server.run(sockets=[listener])
        except (KeyboardInterrupt, SystemExit):
            pass  # how it is meant to end
        finally:
            interrupts.hold()
            session.close()
    return 0


def _end_with_terminal(server: uvicorn.Server) -> None:
    """A terminal that is closed ends it in order too, unless `nohup` says that it is to go on."""
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, server.handle_exit)


def _tell(session: Session, url: str, open_browser: bool) -> None:
    """Say where it is, once Ctrl-C ends it in order."""
    print(say("serve.open", url=url), flush=True)
    print(say("serve.stop"), file=sys.stderr, flush=True)
    if open_browser:
        from jig.workbench.browser import show

        show(session.home.path, url)


def _settle(environ: os._Environ[str]) -> None:
    """The framework reads these when it is imported: no folder of its own in the current one, no matplotlib."""
    from jig.runner.folder import default_home

    environ["NICEGUI_STORAGE_PATH"] = os.path.join(default_home(), "cache", "workbench")
    environ["MATPLOTLIB"] = "false"
    for name in ("NICEGUI_REDIS_URL", "NICEGUI_HOST", "NICEGUI_PORT", "NICEGUI_PROTOCOL", "NICEGUI_SCREEN_TEST_PORT"):
        environ.pop(name, None)


def _listen(host: str, port: int | None, usual: int) -> socket.socket:
    """A socket that listens: on this port, or on the usual one if it is free, else on any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (port,) if port is not None else (usual, 0):
        try:
            return socket.create_server((host, number), family=family, backlog=128)
        except (OSError, OverflowError) as error:
            failure = error
    raise JigError(
        say("serve.taken", host=written(host), port=port or say("serve.taken.any"), why=failure),
        say("serve.taken.hint") if port is not None else "",
    ) from failure


def _app(session: Session, host: str, port: int, token: str, shown: str) -> Guard:
    """The framework with our pages, behind the guard."""
    from fastapi import FastAPI
    from nicegui import app, ui

    from jig.workbench import frame, pages

    log = logging.getLogger("nicegui")
    log.setLevel(logging.ERROR)  # an address that is not there is no news
    log.addFilter(lambda record: not str(record.msg).startswith(NO_NEWS))
    outer = FastAPI(openapi_url=None)  # no description of it for anybody
    app.add_static_files("/static", os.path.join(os.path.dirname(os.path.abspath(__file__)), "static"), max_cache_age=0)
    frame.dress(app)
    pages.register(session)
    ui.run_with(
        outer,
        title=say("app.title"),
        favicon=frame.ICON,
        dark=session.kept.dark,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=30.0,
        show_welcome_message=False,
    )
    app.on_startup(session.live.watch)
    app.on_startup(session.homing.watch)
    key, cookie = session.kept.key, f"jig-workbench-{port}"
    return Guard(outer, set(_addresses(host, port)), token, key, cookie, shown, _is_anywhere(host))


def _addresses(host: str, port: int) -> Iterator[str]:
    """What `Host` may be. Where every interface is listened on: the addresses of this machine, by number and name."""
    names = {host, LOOPBACK, "localhost", "::1"}
    if _is_anywhere(host):
        own = socket.gethostname()
        names |= {own, socket.getfqdn(), *_numbers(own)}
    for name in names:
        yield f"{written(name)}:{port}"
        if port == 80:
            yield written(name)


def _numbers(name: str) -> Iterator[str]:
    try:
        yield from (str(found[4][0]) for found in socket.getaddrinfo(name, None))
    except OSError:
        return


def _is_anywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False  # a name is itself what `Host` has to be
