"""Code in colours: the text as it is, and no markup of its own."""

import html
import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from jig.workbench.highlight import MOST, highlight
from tests.conftest import environ

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


AT_ONCE = """
import threading
from jig.workbench.highlight import highlight
together, shown = threading.Barrier(4), []
def look():
    together.wait()
    shown.append(highlight("train.py", "import os"))
threads = [threading.Thread(target=look) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(shown) == 4
"""


def test_the_first_looks_at_once():
    """Pages are built in threads: none of them may find a library that another one is just loading."""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", AT_ONCE], env=environ(), check=True)
