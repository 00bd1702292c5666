"""Opening the page in the person's browser, without the token on any command line."""

from __future__ import annotations

import html
import os
import threading
import webbrowser

from jig.workbench.words import say

NAME = "workbench.html"


def show(home: str, url: str) -> None:
    """Have the browser open a private file that leads on: the arguments of a program are seen by every user here."""
    place = os.path.join(home, NAME)
    text = f'<!doctype html><meta charset="utf-8"><title>{say("app.title")}</title>'
    text += (
        f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url={html.escape(url)}">'
    )
    aside = f"{place}.{os.getpid()}"
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, place)
    except OSError:
        return  # the address was printed
    # Some browsers are waited for until they are closed.
    threading.Thread(target=webbrowser.open, args=("file://" + place,), daemon=True).start()
