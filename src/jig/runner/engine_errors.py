"""Why the engine, its program, sudo or a registry failed: what they print → one sentence and one fix."""

import os
import re

from jig.runner.engine import DEFAULT_ADDRESS, EngineFailed, is_sudos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Sequence, Tuple

LONGEST = 300
_AROUND = re.compile(
    r"^(?:(?:docker|Error response from daemon|Error|error during connect|failed to create task for container"
    r"|failed to create shim task|OCI runtime create failed|runc create failed|unable to start container process): )+"
)
GROUP = (
    "let the user into the engine's group: `sudo usermod -aG docker $USER`, then log in anew; or let sudo start docker"
    " without a password; both are for an administrator of the machine"
)
OVER_SSH = "; over ssh it counts ten minutes later, because jig keeps its connection so long"
START = (
    "start it: `sudo systemctl start docker`, or open Docker Desktop; `docker info` shows whether it runs, and"
    " `sudo journalctl -u docker -n 30` why it does not"
)
ELSEWHERE = "%s: correct it, or unset it for the engine of this machine; where it is right, "
INSTALL = (
    "install it: `sudo apt-get install docker.io` on Ubuntu and Debian, elsewhere as https://docs.docker.com/engine/install"
    " says; without Docker, use a target of the type local or remote"
)
# Code, what is looked for, the sentence, the fix. {said} stands for the program's own words.
REACH = (
    (
        "permission",
        r"permission denied while trying to connect to the docker (?:daemon socket|API) at (?:unix://)?([^\s:;,]+)",
        r"this user may not use the Docker engine (\1: permission denied)",
        GROUP,
    ),
    (
        "refused",
        r"client version (\S+) is too old\. Minimum supported API version is ([\d.]*\d)",
        r"the docker program is too old for this engine: it speaks version \1, and the engine \2 and newer",
        "install a newer docker program; where DOCKER_API_VERSION is set, unset it",
    ),
    (
        "refused",
        r"client version (\S+) is too new\. Maximum supported API version is ([\d.]*\d)",
        r"the docker program is too new for this engine: it speaks version \1, and the engine \2 at most",
        r"set DOCKER_API_VERSION=\2, or unset it where it is set; or bring the engine up to date",
    ),
    (
        "not-running",
        r"context \"?([^\s\":]+)\"?:? (?:context not found|does not exist|is not found)",
        r"there is no docker context named \1",
        "`docker context ls` lists them: `docker context use default`, and unset DOCKER_CONTEXT where it is set",
    ),
    (
        "not-running",
        r"(?:unable to parse docker host|invalid bind address format:?) [`\"]?([^\s`\"]+)",
        r"\1 is not the address of an engine",
        "set DOCKER_HOST to one such as unix:///var/run/docker.sock, or unset it",
    ),
    (
        "not-running",
        r"unable to resolve docker endpoint: open (\S+\.pem):",
        r"the connection to the engine is to be encrypted, and there is no \1 for that",
        "unset DOCKER_TLS_VERIFY and DOCKER_TLS, or set DOCKER_CERT_PATH to the folder of ca.pem, cert.pem and key.pem",
    ),
    (
        "not-running",
        r"HTTP request to an HTTPS server|error during connect.*(?:HTTP response to HTTPS|not look like a TLS)",
        "the engine and the docker program do not agree on whether their connection is encrypted (docker says: {said})",
        "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH for an engine with TLS, and unset both for one without",
    ),
    (
        "permission",
        r"error during connect.*(?:x509: |tls: |certificate)",
        "the engine and this machine do not accept each other's certificates (docker says: {said})",
        "DOCKER_CERT_PATH must be the folder with the ca.pem, cert.pem and key.pem that belong to this engine",
    ),
    (
        "not-running",
        r"command \[ssh .*stderr=(.*)",
        r"the engine cannot be reached over ssh (\1)",
        "the ssh command must work without a question: try `ssh HOST docker version` with the host of DOCKER_HOST",
    ),
    (
        "not-running",
        r"error during connect.*dial tcp: lookup (\S+?)(?: on \S+)?:.*no such host",
        r"there is no host named \1, where the engine should be",
        "correct DOCKER_HOST, or unset it for the engine of this machine",
    ),
    (
        "not-running",
        r"WSL 2 distro",
        "Docker Desktop does not serve this WSL distribution",
        "in Docker Desktop: Settings, Resources, WSL integration, switch this distribution on",
    ),
    (
        "not-running",
        r"(?:Cannot connect to the docker daemon|failed to connect to the docker API) at unix://([^\s;]*[^\s;.])",
        r"the Docker engine is not running (nobody answers at \1)",
        START,
    ),
    (
        "not-running",
        r"(?:Cannot connect to the docker daemon|failed to connect to the docker API) at ([^\s;]*[^\s;.])",
        r"no Docker engine answers at \1",
        "start the engine there, correct DOCKER_HOST, or unset it for the engine of this machine",
    ),
    ("not-running", r"docker daemon is not running|docker\.raw\.sock", "the Docker engine is not running", START),
    (
        "not-running",
        r"error waiting for container: (?:unexpected )?EOF|error during connect.*\bEOF",
        "the Docker engine went away in the middle of it",
        "`docker info` shows whether it runs again; then submit again",
    ),
    (
        "not-running",
        r"error during connect|unable to resolve docker endpoint",
        "the Docker engine cannot be reached (docker says: {said})",
        "`docker info` must answer; DOCKER_HOST and `docker context ls` say where the engine is looked for",
    ),
)
SUDO = (
    (r"password is required|terminal is required|must have a tty", "it asks for a password"),
    (r"not in the sudoers|not allowed to execute|may not run sudo", "this user may not start docker with it"),
    (r"command not found", "it does not find the program docker"),
    (r"no new privileges|effective uid", "it does not work in here"),
)


def explain(said_err: str) -> EngineFailed:
    """The sentence and the fix for what was printed; where nothing is known of it, its own words."""
    from jig.runner.engine_refusals import REFUSALS

    for rows in (REACH, REFUSALS):
        found = look_up(rows, said_err)
        if found is not None:
            return found
    if is_sudos(said_err):
        return EngineFailed("docker cannot be started through sudo: " + _of_sudo(said_err), GROUP, "permission")
    words = own_words(said_err)
    if not words:
        return EngineFailed("docker failed and did not say why", "`docker info` shows whether the engine is well")
    return EngineFailed("the Docker engine refused: " + words, "`docker info` shows whether the engine is well")


def look_up(rows: "Sequence[Tuple[str, str, str, str]]", said_err: str) -> "Optional[EngineFailed]":
    """By the first row whose text is in what was printed."""
    flat = " ".join(said_err.split())
    for code, pattern, reason, hint in rows:
        found = re.search(pattern, flat, re.IGNORECASE)
        if found:
            reason = found.expand(reason)
            if "{said}" in reason:
                reason = reason.replace("{said}", own_words(said_err))
            return EngineFailed(blot(reason), found.expand(hint), code)
    return None


def own_words(said_err: str) -> str:
    """What was printed without what stands around it, on one line and not too long."""
    lines = [line.strip() for line in said_err.splitlines()]
    noise = ("WARNING:", "See 'docker", "Run 'docker", "Usage:", "time=", "Unable to find image", "Status:", "Emulate")
    text = " ".join(line for line in lines if line and not line.startswith(noise))
    text = text.rpartition("stderr: ")[2]  # what a hook said that failed
    text = re.sub(_AROUND, "", text.replace("Auto-detected mode as 'legacy' ", ""))
    text = re.sub(r"(?:: unknown)?\.?$", "", text)
    if len(text) > LONGEST:  # the cause stands at the end
        text = text[: LONGEST // 3] + " … " + text[-LONGEST * 2 // 3 :]
    return blot(text)


def blot(text: str) -> str:
    """The text without the credentials of the URLs in it."""
    return re.sub(r"//[^\s/@\"']+@", "//", text)


def no_program() -> EngineFailed:
    """There is no docker here."""
    return EngineFailed("there is no program docker on this machine", INSTALL, "absent")


def too_slow(argv: "List[str]", timeout_s: float) -> EngineFailed:
    """It did not end in time: an engine that hangs never ends a call by itself."""
    place = argv.index("-H") + 2 if "-H" in argv[:5] else 3 if argv[0] == "sudo" else 1
    words = [word for word in argv[place : place + 2] if not word.startswith("-")]
    return EngineFailed(
        "the Docker engine has not done `docker %s` within %g s" % (" ".join(words), timeout_s),
        "it hangs or has too much to do: when `docker info` does not answer either, `sudo systemctl restart docker`",
        "timeout",
    )


def all_tried(refused: "List[Tuple[str, str]]", address: str) -> EngineFailed:
    """Nobody let us in: what each way said, and what would help."""
    by_sudo = [said for program, said in refused if program == "sudo"]
    own = [said for program, said in refused if program != "sudo"]
    if by_sudo and not is_sudos(by_sudo[-1]):  # sudo did its part: the trouble is the engine's
        return explain(by_sudo[-1])
    failed = explain((own or by_sudo)[0])
    reason, hint = failed.reason, failed.hint
    if failed.code == "permission" and by_sudo and own:
        reason += ", and not through sudo either: " + _of_sudo(by_sudo[-1])
    own_socket = "%s/docker.sock" % os.environ.get("XDG_RUNTIME_DIR", "")
    if failed.code in ("not-running", "permission") and address == DEFAULT_ADDRESS and os.path.exists(own_socket):
        hint = "this user has an engine of its own: set DOCKER_HOST=unix://%s" % own_socket
    elif hint == START and address != DEFAULT_ADDRESS:
        host = os.environ.get("DOCKER_HOST")
        chosen = "DOCKER_HOST is set to " + host if host else "the docker context in use leads to " + address
        hint = ELSEWHERE % chosen + START
    elif hint == GROUP and "SSH_CONNECTION" in os.environ:
        hint += OVER_SSH
    return EngineFailed(reason, hint, failed.code)


def _of_sudo(said: str) -> str:
    for pattern, sentence in SUDO:
        if re.search(pattern, said):
            return sentence
    return own_words(said)
