"""Lines that cannot be read, files that are named, secrets, and how a finding reads."""

from jig.environments.checks import Finding
from tests.environments.check.conftest import said


def test_lines_that_cannot_be_read(check):
    found = check("python=3.11", "==1", pip=["what is this", "--upgrade", "x @ https://me:secret@e.org/x?sig=secret y"])
    assert [(severity, line) for severity, line, _, _ in found] == [
        ("error", 4),
        ("error", 6),
        ("error", 7),
        ("error", 8),
    ]
    assert "secret" not in str(found)


def test_files_of_requirements_are_read_too(check, tmp_path):
    (tmp_path / "more.txt").write_text("numpy==1.0\ntensorflow-gpu\n")
    found = check("python=3.11", "numpy=2", pip=["-r more.txt"], root=str(tmp_path))
    assert said(found) == [
        ("error", "`tensorflow-gpu` gets version 2.12.0 from PyPI, which is empty and only raises an error when it is installed"),
        ("error", "`numpy==1.0` contradicts `numpy=2` on line 4"),
    ]  # fmt: skip


def test_every_url_is_asked_for_once_and_in_one_call(check):
    calls = []

    def ask(urls):
        calls.append(urls)
        return {}

    one, two = "https://e.org/x-1-py3-none-any.whl", "http://e.org/y.tar.gz?k=v"
    pip = [one, f"y @ {two}", "git+https://e.org/z", "https://${TOKEN}@e.org/w.zip", "file:///tmp/v.zip", "numpy"]
    check("python=3.11", pip=pip, ask=ask)
    assert calls == [[one, two]]
    check("python=3.11", pip=["numpy"], ask=ask)
    assert len(calls) == 1


def test_a_finding_reads_as_one_line_and_its_fix():
    finding = Finding("error", "conda.yml", 3, "it is so", "do this")
    assert str(finding) == "conda.yml:3: error: it is so\n    fix: do this"
