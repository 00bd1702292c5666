"""A standalone Spark cluster for tests: a master and two workers, each on a host of its own, with cables between them."""

import contextlib
import http.client
import itertools
import json
import re
import shutil
import urllib.parse
from pathlib import Path

from tests.hosts.fixtures import QUICK
from tests.hosts.host import Host
from tests.spark.daemon import Daemon, kill, pids, processes, wait_for
from tests.spark.engine import QUICK_JAVA, SparkEngine
from tests.spark.lan import bring, connect, know, reach_here

PORT, PAGE_PORT = 7077, 8080
UP_S, DOWN_S = 90, 30
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
# A daemon that does little needs little; executors inherit the rest.
LEAN = {"SPARK_DAEMON_MEMORY": "256m", "JAVA_TOOL_OPTIONS": QUICK_JAVA}


class SparkCluster:
    """Each method returns when what it says is so, or raises with the logs when that takes too long.

    A worker has one core and 1 GB: one executor of an application, or none while another application has it. On every host
    Spark is at `home`, and `python` is the interpreter with numpy; `shared` is a folder that this machine and all hosts have
    at the same place, which everybody may write to. A driver of this machine has to say that it is at `driver_address`.
    """

    place = Path("/opt/spark")

    def __init__(self, folder: Path, engine: SparkEngine, java: str) -> None:
        self._folder, self._engine, self._java = folder, engine, java
        self.home = self.place / engine.home.relative_to(engine.folder)
        self.submit = self.home / "bin/spark-submit"
        self.python = self.place / "bin/python"
        self.shared = folder / "shared"
        with contextlib.ExitStack() as ends:
            self.shared.mkdir(parents=True)
            self.shared.chmod(0o777)
            ends.callback(shutil.rmtree, folder)
            self.head, *self.workers = self.hosts = [self._host(name, ends) for name in ("head", "worker1", "worker2")]
            self._wire()
            self.master_url = f"spark://{self.head.address}:{PORT}"
            self.driver_address = self.head.near_address
            self._daemons = [self._master(), *map(self._worker, self.workers)]
            self.heal()
            self._ends = ends.pop_all()

    def close(self) -> None:
        """Take the hosts away with everything that runs on them."""
        self._ends.close()

    @property
    def environ(self) -> "dict[str, str]":
        """What `spark-submit` needs on any of the hosts."""
        return {"SPARK_HOME": str(self.home), "JAVA_HOME": self._java, "PYSPARK_PYTHON": str(self.python)}

    # What it is doing

    def page(self) -> "dict[str, object]":
        """What the master says of itself."""
        status, body = self._ask("GET", "/json/")
        if status != 200:
            raise RuntimeError(f"the master's page answers {status}: {body[:500]!r}")
        return json.loads(body)

    def alive_applications(self) -> "list[str]":
        """Their ids; one that waits for a worker is alive."""
        return [each["id"] for each in self.page()["activeapps"]]

    def applications(self) -> "dict[str, str]":
        """The state of each that the master knows: RUNNING, WAITING, FINISHED, FAILED, KILLED."""
        page = self.page()
        return {each["id"]: each["state"] for each in (*page["activeapps"], *page["completedapps"])}

    def executors(self) -> "list[tuple[int, int]]":
        """Worker and process number there of each executor."""
        return [(i, number) for i, host in enumerate(self.workers) for number in pids(host, EXECUTOR)]

    def others(self) -> "list[str]":
        """The words of all processes on the hosts that are neither the master nor a worker: nothing is left when this is empty."""
        daemons = {(daemon.host.name, number) for daemon in self._daemons for number in daemon.pids()}
        found = [(host.name, number, words) for host in self.hosts for number, words in processes(host).items()]
        return [f"{name}: {' '.join(words)}" for name, number, words in found if (name, number) not in daemons]

    def logs(self) -> str:
        """The end of every daemon's log, and of what executors said."""
        said = [f"--- {each.host.name}\n{each.log()[-3000:]}" for each in self._daemons]
        for host in self.workers:
            for place in sorted((host.home / "work").glob("app-*/*/stderr")):
                said.append(
                    f"--- {host.name} {place.relative_to(host.home)}\n{place.read_text(errors='replace')[-3000:]}"
                )
        return "\n".join(said)

    # What can go wrong

    def kill_master(self) -> None:
        self._daemons[0].kill()

    def start_master(self) -> None:
        """Start it, and wait for the workers that live: they ask again every 5 to 15 s."""
        self._daemons[0].start()
        self._wait_for_workers()

    def kill_worker(self, i: int) -> None:
        """Returns when the master, if it lives, has noticed; the executor ends a moment later."""
        self._daemons[1 + i].kill()
        if self._daemons[0].pids():
            self._wait_for_workers()

    def start_worker(self, i: int) -> None:
        self._daemons[1 + i].start()
        self._wait_for_workers()

    def kill_executor(self, i: int) -> None:
        """Kill what the worker runs for applications: the master starts another."""
        kill(self.workers[i], pids(self.workers[i], EXECUTOR))

    def kill_application(self, app_id: str) -> None:
        """What the button on the master's page does, which since Spark 4.3 sends a token of that page."""
        _, page = self._ask("GET", "/")
        token = re.search(r'name="csrfToken" value="(\w+)"', page.decode())
        fields = {"id": app_id, "terminate": "true", **({"csrfToken": token[1]} if token else {})}
        status, body = self._ask("POST", "/app/kill/", urllib.parse.urlencode(fields))
        if status >= 400:
            raise RuntimeError(f"the master does not kill {app_id}: {status} {body[:500]!r}")
        wait_for(lambda: app_id not in self.alive_applications(), f"the end of {app_id}", DOWN_S, self.logs)

    def heal(self) -> None:
        """As it was at first: all daemons up, no application, and no other process of anyone."""
        for host in self.hosts:
            daemons = [number for each in self._daemons if each.host is host for number in each.pids()]
            kill(host, [number for number in processes(host) if number not in daemons])
        if all(each.pids() for each in self._daemons) and self._alive_workers() == len(self.workers):
            for app_id in self.alive_applications():
                self.kill_application(app_id)
            return
        for each in self._daemons:
            each.kill()
            kill(each.host, [*processes(each.host)])
        self._furnish()
        self._daemons[0].start()
        wait_for(
            self._answers, "the master", UP_S, self.logs
        )  # a worker that comes too early tries again after seconds
        for each in self._daemons[1:]:
            each.start()
        self._wait_for_workers()

    # How it is made

    def _host(self, name: str, ends: contextlib.ExitStack) -> Host:
        folder = self._folder / name
        folder.mkdir()
        host = Host(name, folder, **QUICK)
        ends.callback(host.close)
        return host

    def _wire(self) -> None:
        for one, other in itertools.combinations(self.hosts, 2):
            connect(one, other)
        for worker in self.workers:
            reach_here(worker, self.head.near_address)
        know(self.hosts)

    def _furnish(self) -> None:
        """What a host has lost at a reboot is brought anew."""
        for host in self.hosts:
            for settings in Path("/etc").glob("java-*"):  # Debian's runtimes have theirs here
                shutil.copytree(settings, host.root / "etc" / settings.name, symlinks=True, dirs_exist_ok=True)
            bring(host, self._engine.folder, self.place)
            bring(host, self.shared, self.shared, read_only=False)

    def _master(self) -> Daemon:
        words = ("--host", self.head.address, "--port", str(PORT), "--webui-port", str(PAGE_PORT))
        return Daemon(self.head, "Master", words, {**self.environ, **LEAN})

    def _worker(self, host: Host) -> Daemon:
        size = ("--cores", "1", "--memory", "1g", "--work-dir", f"/home/{host.user}/work")
        words = ("--host", host.address, "--webui-port", "8081", *size, self.master_url)
        return Daemon(host, "Worker", words, {**self.environ, **LEAN})

    def _ask(self, method: str, path: str, form: str = "") -> "tuple[int, bytes]":
        connection = http.client.HTTPConnection(self.head.address, PAGE_PORT, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, form or None, {"Content-Type": "application/x-www-form-urlencoded"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _answers(self) -> bool:
        # While it starts it may answer with a page of another kind.
        with contextlib.suppress(OSError, RuntimeError, ValueError, http.client.HTTPException):
            return self.page()["status"] == "ALIVE"
        return False

    def _alive_workers(self) -> int:
        return int(self.page()["aliveworkers"]) if self._answers() else 0

    def _wait_for_workers(self) -> None:
        """Until the master knows how many live."""
        living = sum(each.is_wanted for each in self._daemons[1:])
        wait_for(lambda: self._answers() and self._alive_workers() == living, f"{living} workers", UP_S, self.logs)
