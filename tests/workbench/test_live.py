"""Pages hear of runs that were started elsewhere, and an idle server does next to nothing."""

import time

import pytest

from jig.workbench.live import Change
from jig.workbench.session import Session
from tests.conftest import call, until


@pytest.fixture
def session(project):
    found = Session(str(project.path))
    yield found
    found.close()


def ask(session, question):
    """As `session.read`, without a loop: the browser's has this thread."""
    return session._thread.submit(session._ask, question).result()


def look(session):
    return ask(session, session.live._look)


def test_a_run_from_the_command_line_is_news_once(session, project):
    look(session)
    assert look(session) == Change()
    project.write("quick.py", "print('hi')\n")
    run = call("submit", "-c", "local", "quick.py").run_id
    assert until(lambda: look(session).listing, what="the run")
    until(lambda: look(session) == Change(), what="an end of the news")
    assert [one["status"] for one in ask(session, lambda store: store.list("proj", 5))] == ["Completed"]
    assert ask(session, lambda store: store.record(run))["run_id"] == run


def test_the_log_of_a_run_that_goes_on_is_news(session, project):
    project.write("talk.py", "import time\nfor i in range(600): print(i, flush=True); time.sleep(0.05)\n")
    run = call("submit", "-c", "local", "-a", "talk.py").run_id
    until(lambda: run in look(session).runs, what="news of the run")
    time.sleep(0.2)
    assert run in look(session).runs
    assert call("cancel", run).code == 0
    until(lambda: look(session) == Change(), what="an end of the news")
    assert ask(session, lambda store: store.record(run))["status"] == "Canceled"


def cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_an_idle_server_with_a_page_open_costs_little(page, server):
    time.sleep(2)
    before, began = cpu_s(server.process.pid), time.monotonic()
    time.sleep(10)
    share = (cpu_s(server.process.pid) - before) / (time.monotonic() - began)
    print(f"idle: {share:.2%} of a core")
    assert share < 0.05  # the aim is well below a hundredth; a tick of the clock is a thousandth here
