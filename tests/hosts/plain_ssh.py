"""The plain `ssh` program, with a key and a list of known hosts of its own."""

import os
import shlex
import subprocess
from pathlib import Path

from tests.hosts.host import Host

CONFIG = """\
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile none
StrictHostKeyChecking accept-new
IdentityFile {folder}/key
IdentitiesOnly yes
ConnectTimeout 20
NumberOfPasswordPrompts 1
"""


class PlainSsh:
    """ssh(host, "date") → CompletedProcess. A key that the host does not know makes ssh ask for the password."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "config").write_text(CONFIG.format(folder=folder))
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        self.public_key = (folder / "key.pub").read_text()

    def words(self, host: Host, command: str, *options: str, user: "str | None" = None) -> "list[str]":
        to = f"{user or host.user}@{host.address}"
        return ["ssh", "-F", str(self.folder / "config"), "-p", str(host.port), *options, to, command]

    def __call__(
        self, host: Host, command: str, *options: str, user: "str | None" = None, password: "str | None" = None
    ) -> "subprocess.CompletedProcess[str]":
        words = self.words(host, command, *options, user=user)
        env = self._environ(password)
        return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def start(self, host: Host, command: str, *options: str) -> "subprocess.Popen[str]":
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(self.words(host, command, *options), env=self._environ(None), text=True, **pipes)

    def _environ(self, password: "str | None") -> "dict[str, str]":
        ask = self.folder / "ask"
        ask.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(password or '')}\n")
        ask.chmod(0o700)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("SSH_")}
        return {**plain, "LC_ALL": "C.UTF-8", "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
