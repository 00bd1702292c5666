"""Source text in colours: HTML in which nothing of the text is markup."""

from __future__ import annotations

import html

# What a person reads; more is shown without colours, at once.
MOST = 200_000
BY_NAME = {".compute": "yaml", ".runconfig": "yaml"}


def highlight(name: str, text: str) -> str:
    """The text as spans with a class for each kind of word, by the language that the file's name tells."""
    # By its own name: through `pygments.formatters` only the first of several threads would find it.
    from pygments import highlight as coloured
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    if len(text) > MOST:
        return html.escape(text)
    language = BY_NAME.get(name[name.rfind(".") :]) if "." in name else None
    exact = {"stripnl": False, "ensurenl": False}
    try:
        lexer = get_lexer_by_name(language, **exact) if language else get_lexer_for_filename(name, **exact)
    except ClassNotFound:
        return html.escape(text)
    return str(coloured(text, lexer, HtmlFormatter(nowrap=True, classprefix="hl-")))
