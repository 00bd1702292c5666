"""Code in colours: the text as it is, and no markup of its own."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from jig.workbench.highlight import MOST, highlight

NAMES = st.sampled_from(
    ["train.py", "local.compute", "a.yml", "page.html", "drawing.svg", "x.js", "Makefile", "none", "a.b"]
)


@given(NAMES, st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"[<>&\"'/= a-z\n]{0,60}"))
def test_nothing_of_the_text_is_markup_or_lost(name, text):
    shown = highlight(name, text)
    bare = re.sub(r'<span class="hl-[a-zA-Z0-9 -]+">|</span>', "", shown)
    assert "<" not in bare
    assert html.unescape(bare).split() == text.replace("\ufeff", "").split()


def test_kinds_of_words():
    assert '<span class="hl-kn">import</span>' in highlight("train.py", "import os\n")
    assert '<span class="hl-nt">type</span>' in highlight("box.compute", "type: remote\n")


def test_much_of_it_is_shown_as_it_is():
    assert highlight("train.py", "<b>" * MOST) == "&lt;b&gt;" * MOST
