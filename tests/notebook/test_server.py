"""`jig notebook start`: a real Jupyter server, which only the token opens, and which leaves nothing."""

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import venv

import pytest

from jig.system import carriers
from tests.conftest import alive, call, environ, until

LINE = "jig notebook: "


class Server:
    """A `jig notebook start` that runs."""

    def __init__(self, project, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jig", "notebook", "start", "--no-browser", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.path, env=environ(), start_new_session=True,
        )  # fmt: skip
        self.line = self.process.stdout.readline().decode()
        assert self.line.startswith(LINE), self.line + self.process.stderr.read().decode()
        self.url = self.line.removeprefix(LINE).strip()
        parts = urllib.parse.urlsplit(self.url)
        self.root, self.port = f"http://{parts.netloc}/", parts.port
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]

    def ask(self, path: str, data: "dict | None" = None, token: "str | None" = None, method: "str | None" = None):
        """The answer to a request, as JSON; for a refusal its number."""
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.root + path, body, method=method)
        request.add_header("Authorization", f"token {self.token if token is None else token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text else answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    @property
    def jupyter(self) -> int:
        """The process of the server itself."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return int(file.read().split()[0])

    def end(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        try:
            self.said = self.process.communicate(timeout=60)[1].decode()
            return self.process.returncode
        finally:
            self.process.kill()


@pytest.fixture
def start(project):
    started = []
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {json.dumps(sys.executable)}\n")

    def make(*words: str) -> Server:
        started.append(Server(project, *words))
        return started[-1]

    yield make
    for server in started:
        if server.process.stdout and not server.process.stdout.closed:
            server.end()


def run_of(cli) -> str:
    def begun() -> str:
        runs = cli("history", "list", "-o", "json").json()
        return next((run["run_id"] for run in runs if run["status"] == "Running"), "")

    return until(begun, what="the kernel's run")


def test_from_start_to_end(start, project, cli, jig_home):
    project.runconfig("other", Target="local")
    project.write("one.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    server = start("-c", "local")
    specs = server.ask("api/kernelspecs")
    names = {name: spec["spec"]["display_name"] for name, spec in specs["kernelspecs"].items()}
    assert {"jig-local": "proj local", "jig-other": "proj other"}.items() <= names.items()
    assert specs["default"] == "jig-local"
    assert "one.ipynb" in [item["name"] for item in server.ask("api/contents")["content"]]
    for token in ("", "wrong"):
        assert server.ask("api/contents", token=token) == 403
    kernel = server.ask("api/kernels", {"name": "jig-local"})
    run_id = run_of(cli)
    assert server.token not in str(alive("jupyter") + alive("jig")), "no other user can read it"
    (folder,) = (jig_home / "notebooks").iterdir()
    for place in (folder, folder / "server.json", folder / "config/jupyter_server_config.json"):
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0, place
    again = call("notebook", "start", "--no-browser", cwd=project.path)
    assert (again.code, again.out, again.err) == (0, server.line, "it is going already\n")
    assert server.ask(f"api/kernels/{kernel['id']}", method="DELETE") == 204
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Completed", what="the end of the run")
    assert server.end() == 0
    assert "[local] ready\n" in server.said and "Traceback" not in server.said
    assert [path.name for path in folder.iterdir()] == ["lock"]
    assert alive(str(project.path)) == []
    assert call("notebook", "stop", cwd=project.path).code == 125


@pytest.mark.parametrize("who", ["jig", "jupyter", "terminal", "stop"])
def test_whatever_ends_it_ends_its_kernels(start, project, cli, who):
    server = start()
    server.ask("api/kernels", {"name": "jig-local"})
    run_id = run_of(cli)
    if who == "stop":
        assert call("notebook", "stop", cwd=project.path).code == 0
    else:
        number = signal.SIGHUP if who == "terminal" else signal.SIGKILL
        os.kill(server.jupyter if who == "jupyter" else server.process.pid, number)
    until(lambda: carriers("JIG_RUN_ID", run_id) == [] == alive(str(project.path)), what="that nothing is left")
    state = until(lambda: cli("status", run_id, "-o", "json").json()["state"] in ("Canceled", "Completed"))
    assert state
    again = start()  # what a killed one left is no obstacle
    assert again.ask("api/status")["kernels"] == 0


def test_where_there_is_no_jupyter(project, tmp_path):
    venv.create(tmp_path / "bare", symlinks=True)
    packages = next((tmp_path / "bare/lib").iterdir()) / "site-packages"
    sources = [path for path in sys.path if path.endswith("/src")]
    (packages / "jig.pth").write_text("\n".join(sources))
    for name in ("yaml", "pathspec", "_yaml"):
        origin = next(os.path.join(path, name) for path in sys.path if os.path.isdir(os.path.join(path, name)))
        (packages / name).symlink_to(origin)
    words = [tmp_path / "bare/bin/python", "-m", "jig", "notebook", "start", "--no-browser"]
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {tmp_path}/bare/bin/python\n")
    done = subprocess.run(words, cwd=project.path, capture_output=True, text=True, env=environ(), timeout=60)
    assert done.returncode == 125 and done.stderr.startswith("error: Jupyter is not installed: ")
    assert done.stderr.endswith("hint: pip install 'jig-workbench[notebook]'\n")


OWN = "c.{} = ''\nc.ServerApp.ip = '0.0.0.0'\n"


def test_a_person_s_own_settings_do_not_open_it(start, project, jig_home):
    settings = jig_home.parent / ".jupyter"
    settings.mkdir()
    (settings / "jupyter_server_config.py").write_text(OWN.format("IdentityProvider.token"))
    server = start()
    assert server.ask("api/contents", token="") == 403
    said = subprocess.run(["ss", "-Hltn", f"sport = :{server.port}"], capture_output=True, text=True).stdout
    assert said.split()[3] == f"127.0.0.1:{server.port}"
    assert server.end() == 0
    (settings / "jupyter_server_config.py").write_text(OWN.format("PasswordIdentityProvider.token"))
    done = call("notebook", "start", "--no-browser", cwd=project.path)
    assert done.code == 125 and "error: the Jupyter server would let anybody in, without a token\n" in done.err
    assert alive(str(project.path)) == []
