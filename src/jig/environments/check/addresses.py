"""Packages by URL that are not to be had there any more."""

from __future__ import annotations

from jig.environments.check import ERROR, WARNING, Remark, wheels
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jig.environments.check.lines import Content, Line

_MAY_PASS = (401, 407, 408, 425, 429)  # answers that say nothing of the file: other credentials, another day


class Answer(Value):
    """What came back from an address."""

    status: int = 0  # of HTTP; 0 when nothing came back
    is_page: bool = False  # a web page, where a file was asked for
    problem: str = ""  # why nothing came back
    may_pass: bool = False  # whether it may be different from the machine, or later


def addresses(content: Content) -> list[str]:
    """The URLs to look at, each once; those with a variable in them are known on the machine only."""
    urls = [line.url for line in content.lines if line.url.lower().startswith(("http://", "https://"))]
    return [url for url in dict.fromkeys(urls) if "${" not in url]


def remarks(content: Content, answers: Mapping[str, Answer]) -> Iterator[Remark]:
    """A remark for each line whose URL did not give a file."""
    for line in content.lines:
        answer = answers.get(line.url)
        if answer is None or (200 <= answer.status < 300 and not answer.is_page):
            continue
        may_pass = answer.may_pass or answer.status in _MAY_PASS or answer.status >= 500 or line.has_marker
        message = f"{line.shown_url} {_said(answer)}"
        yield Remark(WARNING if may_pass else ERROR, line.number, message, _fix(line, answer))


def _said(answer: Answer) -> str:
    if answer.problem:
        return f"does not answer: {answer.problem}"
    if answer.is_page:
        return "answers with a web page instead of a file"
    from http.client import responses

    return f"answers {answer.status} {responses.get(answer.status, '')}".rstrip()


def _fix(line: Line, answer: Answer) -> str:
    if line.name == "cntk":
        return wheels.CNTK
    if answer.status in (401, 403) and "?" in line.url:
        return "get a new URL: what stands after its question mark may have run out"
    version = line.clauses[0].version if line.clauses and line.clauses[0].operator == "==" else ""
    by_name = f", or write `{line.name}=={version}` where PyPI has it" if line.name and version else ""
    return f"find the file's new address{by_name}"
