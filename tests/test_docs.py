"""The documentation says what is there: commands, options, keys, files, links."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jig.cli import NOUNS, find, load
from jig.cli.grammar import COMMON, LISTING, Command, Group, parse
from jig.errors import UsageError
from jig.runner import events
from jig.store import runs
from tests.conftest import until

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=page_name)


def commands(group: Group, path: str):
    """Every command below a noun, with the way it is called."""
    for member in group.commands:
        if isinstance(member, Group):
            yield from commands(member, f"{path} {member.name}")
        else:
            yield f"{path} {member.name}", member


COMMANDS = dict(item for noun in NOUNS for item in commands(load(noun), f"jig {noun}"))


def test_the_command_reference_is_what_the_tool_prints():
    printed = subprocess.run([sys.executable, ROOT / "tools/commands_reference.py"], capture_output=True, check=True)
    committed = (ROOT / "docs/reference/commands.md").read_bytes()
    again = "print it again: python tools/commands_reference.py > docs/reference/commands.md"
    assert printed.stdout == committed, again


@pytest.mark.parametrize("path", COMMANDS)
def test_everything_on_a_command_line_has_a_text(path):
    command = COMMANDS[path]
    assert command.help
    for item in (*command.options, *command.arguments, *COMMON, *LISTING):
        assert item.help.strip(), f"{path}: {item.dest}"


def slug(heading: str) -> str:
    """The anchor that a heading gets where these pages are shown."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower())
    return kept.replace(" ", "-")


def anchors(page: Path) -> "set[str]":
    text = FENCE.sub("", page.read_text())
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@every_page
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        there = (page.parent / place).resolve() if place else page
        assert there.exists(), f"{page_name(page)} links to {link}"
        assert not anchor or anchor in anchors(there), f"{page_name(page)} links to {link}"


def shown_commands(page: Path):
    """Command lines of jig in the page: those in blocks (behind a prompt, where there is one), and those in the text."""
    text = page.read_text()
    found = re.findall(r"`(jig [^`]+)`", FENCE.sub("", text))
    for block in FENCE.findall(text):
        lines = block.splitlines()[1:-1]
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] or lines
        found += [part for line in typed for part in re.split(r"\s{2,}(?=jig |#)", line)]
    whole = [part for part in found if re.match(r"(\w+=\S+ )*jig [a-z]", part)]
    return [part for part in whole if not re.search(r"COMMAND|…|\[options\]", part)]


@every_page
def test_commands_that_are_shown_exist(page):
    for line in shown_commands(page):
        words = shlex.split(line, comments=True)
        words = words[words.index("jig") + 1 :]
        words = words[: next((place for place, word in enumerate(words) if word in ("|", ">", "&&")), len(words))]
        try:
            found = find(words)
            if isinstance(found.node, Command):
                parse(found.node, found.words)
        except UsageError as error:
            pytest.fail(f"{page_name(page)} shows `{line}`: {error.message}")


def documented(page: str, heading: str, table: int = 0) -> "list[str]":
    """The first column of a table under a heading: every name in it, without the backquotes."""
    text = (ROOT / page).read_text()
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"{page} has no heading {heading}"
    tables = re.findall(r"(?:^\|.*\n)+", FENCE.sub("", section[1]), re.MULTILINE)
    rows = tables[table].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


RECORD = "docs/reference/record.md"
LOGS = """
import os, jig
jig.log("accuracy", 0.5)
jig.log("status", "a metric of this name is found under metrics only")
jig.log("series", [1, 2])
if os.fork() == 0:
    os.environ["RANK"] = "1"
    jig.log("accuracy", 0.4)
    os._exit(0)
os.wait()
print("logged")
"""


def test_the_keys_of_a_record(project, cli):
    project.write("logs.py", LOGS)
    assert cli("submit", "-c", "local", "logs.py").code == 0
    record = cli("history", "info").json()
    assert [key for key in record if key != "accuracy"] == documented(RECORD, "The keys of a record")
    assert record["accuracy"] == 0.5 and record["status"] == "Completed"
    text = (ROOT / RECORD).read_text()
    sentence = re.search(r"^`jig status` has (.*?), as lines", text, re.MULTILINE | re.DOTALL)
    assert sentence and re.findall(r"`(\w+)`", sentence[1]) == list(cli("status", "-o", "json").json())


ABSENT = {"prepare.log", "work/outputs", "system.jsonl", "remarks.jsonl", "environment.json", "spark.jsonl", "kernel"}
ABSENT |= {"output.<rank>.log", "ranks.jsonl"}


def test_the_files_of_a_run(project, cli, jig_home):
    """A run that logs, and is canceled, has every file; only a built environment would leave one more."""
    project.write("logs.py", LOGS + "import time; time.sleep(600)")
    run_id = cli("submit", "-a", "-c", "local", "logs.py").run_id
    folder = jig_home / "runs" / run_id
    until(lambda: (folder / "output.log").exists() and b"logged" in (folder / "output.log").read_bytes())
    seen = set(os.listdir(folder))
    assert cli("cancel").code == 0
    seen |= set(os.listdir(folder))
    seen = {"metrics.<rank>.jsonl" if name == "metrics.1.jsonl" else name for name in seen}
    known = {name.rstrip("/") for name in documented(RECORD, "The run folder")}
    assert known == seen | ABSENT


def test_the_keys_of_a_plan(project, cli, jig_home):
    project.write("a.py", "print(1)")
    said = cli("submit", "-c", "local", "a.py")
    plan = json.loads((jig_home / "runs" / said.run_id / "plan.json").read_text())
    assert list(plan) == documented(RECORD, "plan.json")


def test_states_events_and_their_fields(project, cli, jig_home):
    assert documented(RECORD, "events.jsonl", table=1) == list(runs.STATES)
    project.write("a.py", "print(1)")
    project.write("crash.py", "import os; os.abort()")
    seen = set()
    for script in ("a.py", "crash.py"):
        run_id = cli("submit", "-c", "local", script).run_id
        for event in events.read(str(jig_home / "runs" / run_id / "events.jsonl")):
            seen |= set(event)
    fields = documented(RECORD, "events.jsonl", table=0)
    around_gpus = {"look", "position", "of", "uuids", "indices", "idle_s", "stop_s", "proof", "cause"}
    around_gpus |= {"processes", "backend", "torch", "restart", "rank", "said", "exchange"}  # and several processes
    assert set(fields) == seen | around_gpus | {"text", "detail", "hint", "survivors", "image", "gpu"}


def test_every_reason_is_explained():
    assert sorted(documented("docs/guide.md", "When something fails")) == sorted(runs.REASONS)
