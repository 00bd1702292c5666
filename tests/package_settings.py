"""Settings of pip, uv and conda that belong to the person who runs the tests: no test is to see them."""

import os
from pathlib import Path

import pytest

PERSONAL = ("PIP_", "UV_", "XDG_", "CONDA")


def forget_settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nothing is set, no settings file is found, and uv keeps its downloads under `folder`."""
    for name in os.environ:
        if name.upper().startswith(PERSONAL) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("CONDARC", str(folder / "condarc"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(folder / "no-settings"))
    monkeypatch.setenv("UV_CACHE_DIR", str(folder / "uv-cache"))


@pytest.fixture
def no_settings(tmp_path, monkeypatch) -> None:
    """The same for one test, with uv asking once only, and fetching no interpreter."""
    forget_settings(monkeypatch, tmp_path)
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
