"""Notebooks that a test opens are closed behind it."""

import pytest

from tests.notebook.speaking import Notebook


@pytest.fixture
def open_notebook(tmp_path, monkeypatch):
    """open_notebook(project folder, run configuration) → Notebook, with its kernel started."""
    opened = []
    monkeypatch.setenv("JUPYTER_PATH", "")

    def make(root, config: str, wait: bool = True) -> Notebook:
        opened.append(Notebook(root, config, tmp_path / f"notebook-{len(opened)}", wait))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
