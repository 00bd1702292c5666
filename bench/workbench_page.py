"""The browser's part of `workbench.py`: run where NiceGUI and Playwright are; prints one line of JSON."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
BEST_OF = 3
FLOOD_S, IDLE_S = 10.0, 10.0
PAGES = 20
FLOOD = """\
import time
began, done = time.monotonic(), 0
while time.monotonic() - began < 25:
    due = int((time.monotonic() - began) * 10_000)
    if due > done:
        print("\\n".join(f"step {n} loss {1 / (n + 1):.6f} \\x1b[32mok\\x1b[0m" for n in range(done, due)), flush=True)
        done = due
    time.sleep(0.01)
"""
FRAMES = """() => {
  window.gaps = [];
  let before = performance.now();
  const frame = now => { gaps.push(now - before); before = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""
PAINTED = """() => new Promise(done => { const look = () => document.querySelector('.ag-row a')
  ? requestAnimationFrame(() => done(performance.now() / 1000)) : requestAnimationFrame(look); look(); })"""


class Server:
    """A server that is up, and how long that took."""

    def __init__(self, argv: list[str], port: int, cwd: str) -> None:
        began = time.monotonic()
        self.port = port
        self.process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.cookie = ""
        if "jig" in argv:
            assert self.process.stdout is not None
            self.url = self.process.stdout.readline().split(": ", 1)[1].strip()
            query = urllib.parse.urlsplit(self.url).query
            self.cookie = _header(port, "/?" + query, "", "set-cookie").split(";")[0]
        while True:
            try:
                self.answer_s()
                break
            except OSError:
                time.sleep(0.005)
        self.start_s = time.monotonic() - began

    def answer_s(self, path: str = "/") -> float:
        """Seconds until a page is answered whole."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 200, answer.status
        return time.monotonic() - began

    def cpu_s(self) -> float:
        """Processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(2)
        self.process.communicate()


def main(folder: str) -> None:
    """Measure all of it."""
    jig = [sys.executable, "-m", "jig"]
    name = json.loads(subprocess.check_output([*jig, "history", "list", "--all", "-n", "1", "-o", "json"]))[0]["name"]
    project = os.path.join(folder, name)
    subprocess.run(
        [*jig, "project", "create", "--path", project, "--template", "blank"], check=True, stdout=subprocess.DEVNULL
    )
    with open(os.path.join(project, "flood.py"), "w") as file:
        file.write(FLOOD)
    found: dict[str, float] = {}
    starts: list[float] = []
    floors: list[float] = []
    for _ in range(BEST_OF):
        floors.append(_started([sys.executable, os.path.join(folder, "floor.py"), str(port := _free())], port, folder))
        starts.append(_started(_workbench(port := _free()), port, project))
    found["start_s"], found["floor_s"] = min(starts), min(floors)
    port = _free()
    server = Server(_workbench(port), port, project)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            _in_the_browser(browser, server, jig, project, found)
            browser.close()
    finally:
        server.end()
    print(json.dumps(found))


def _in_the_browser(browser: Browser, server: Server, jig: list[str], project: str, found: dict[str, float]) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    root = server.url.partition("/?")[0]
    page.goto(server.url)
    found["paint_s"] = min(_painted(page, f"{root}/history") for _ in range(BEST_OF))
    time.sleep(2)
    before = server.cpu_s()
    time.sleep(IDLE_S)
    found["idle_s"] = max(server.cpu_s() - before, 0.001)
    found["news_s"] = min(_news_s(page, jig, project) for _ in range(BEST_OF))
    _flood(page, server, root, jig, project, found)
    pages = [context.new_page() for _ in range(PAGES - 1)]
    for number, one in enumerate(pages):
        one.goto(root + ("/", "/files", "/history", "/targets")[number % 4])
        one.wait_for_selector("#main")
    found["pages_answer_s"] = max(server.answer_s("/history") for _ in range(10))


def _painted(page: Page, url: str) -> float:
    page.goto(url, wait_until="commit")
    return float(page.evaluate(PAINTED))


def _news_s(page: Page, jig: list[str], project: str) -> float:
    """From the end of a submit on the command line until its run stands in the table."""
    argv = [*jig, "submit", "-a", "-c", "local", "hello.py"]
    said = subprocess.run(argv, cwd=project, check=True, capture_output=True, text=True).stdout
    run = said.splitlines()[0].removeprefix("RunId: ")
    began = time.monotonic()
    page.wait_for_selector(f'[row-id="{run}"]', timeout=20_000)
    seconds = time.monotonic() - began
    time.sleep(1.3)  # so that looks and submits do not fall into step
    return seconds


def _flood(page: Page, server: Server, root: str, jig: list[str], project: str, found: dict[str, float]) -> None:
    argv = [*jig, "submit", "-a", "-c", "local", "flood.py"]
    said = subprocess.run(argv, cwd=project, check=True, capture_output=True, text=True).stdout
    run = said.splitlines()[0].removeprefix("RunId: ")
    page.goto(f"{root}/runs/{run}?tab=log")
    page.wait_for_selector(".jig-log div")
    page.evaluate(FRAMES)
    answers: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.2):
            answers.append(server.answer_s())

    asking = threading.Thread(target=ask)
    asking.start()
    before = page.inner_text(".jig-log div:last-child")
    page.wait_for_timeout(FLOOD_S * 1000)
    ended.set()
    asking.join()
    assert page.inner_text(".jig-log div:last-child") != before, "the log stands still"
    found["frame_s"], found["log_answer_s"] = max(page.evaluate("gaps")) / 1000, max(answers)
    subprocess.run([*jig, "cancel", run], cwd=project, check=True, stdout=subprocess.DEVNULL)


def _workbench(port: int) -> list[str]:
    return [sys.executable, "-m", "jig", "workbench", "--no-browser", "--port", str(port)]


def _started(argv: list[str], port: int, cwd: str) -> float:
    server = Server(argv, port, cwd)
    server.end()
    return server.start_s


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _header(port: int, path: str, cookie: str, name: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"Cookie": cookie})
    found = connection.getresponse().headers[name]
    connection.close()
    return found or ""


if __name__ == "__main__":
    main(sys.argv[1])
