"""Addresses that give the files of a run: its log by offset, and what it left, as nothing that a browser executes."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable

from fastapi import Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from nicegui import app

from jig.cli.terminal import printable
from jig.errors import JigError, UsageError
from jig.store import runs
from jig.store.queries import Found
from jig.workbench import log_window
from jig.workbench.gate import within
from jig.workbench.session import Session
from jig.workbench.words import say

# Nothing of a run is shown as a page: no script, no frame, no other file, a place of its own.
HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}
# What a browser can only draw, never run; SVG is not among them.
PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".bmp": "image/bmp",
}  # fmt: skip


def is_picture(name: str) -> bool:
    """Whether it is shown as a picture."""
    return os.path.splitext(name)[1].lower() in PICTURES


def place(found: Found, name: str) -> str:
    """The real path of an artifact of the run; UsageError for anything else, wherever links may lead."""
    try:
        path = runs.artifact_path(found.folder, name)
    except (ValueError, OSError) as error:
        raise UsageError(say("outputs.unknown", name=repr(name), run=found.id)) from error
    if name == runs.DIFF:
        return path  # frozen with the run, by its hash
    return within(found.folder.path, path)


def register(session: Session) -> None:
    """Make the addresses known to the framework."""

    async def log(
        run_id: str, whose: str = "", before: int | None = None, after: int | None = None, around: int = 0
    ) -> Response:
        def read(found: Found) -> log_window.Window:
            with session.logs.file(found, whose) as path:
                if before is not None:
                    return log_window.before(path, before if before >= 0 else None)
                if after is not None:
                    return log_window.after(path, max(0, after))
                return log_window.around(path, max(0, around))

        try:
            found = await session.read(lambda store: store.find(run_id, None))
            window = await session.work(lambda: read(found))
        except JigError as error:
            return _refusal(error)
        return JSONResponse(window._asdict(), headers=HEADERS)

    async def artifact(request: Request, run_id: str, name: str, picture: bool = False) -> Response:
        # By its bytes: the framework has put marks in the place of those that are no text.
        path = os.fsdecode(urllib.parse.unquote_to_bytes(request.scope["raw_path"]))
        name = path.partition("/artifacts/")[2]
        try:
            found = await session.read(lambda store: store.find(run_id, None))
            path = await session.work(lambda: place(found, name))
        except JigError as error:
            return _refusal(error)
        if not os.path.isfile(path):
            return _refusal(UsageError(say("outputs.missing", name=repr(name))))
        kind = PICTURES.get(os.path.splitext(name)[1].lower(), "") if picture else ""
        shown = "inline" if kind else "attachment"
        file_name = printable(os.path.basename(name) if "." in name else f"{name}.txt")
        return FileResponse(
            path, headers=HEADERS, media_type=kind or "application/octet-stream",
            filename=file_name, content_disposition_type=shown,
        )  # fmt: skip

    _get("/runs/{run_id}/log", log)
    _get("/runs/{run_id}/log/{whose}", log)
    _get("/runs/{run_id}/artifacts/{name:path}", artifact)


def _get(path: str, answer: Callable[..., object]) -> None:
    app.add_api_route(path, answer, methods=["GET"], response_model=None)


def _refusal(error: JigError) -> Response:
    return PlainTextResponse(printable(error.message), 404, headers=HEADERS)
