"""`jig computetarget attach, check, detach`: in every spelling that the original ever had."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.machines.ssh import SshMachine
    from jig.project import Project

KINDS = ("remote", "remotedocker", "cluster")
KIND_WORD = Argument("kind", "KIND", "remote (a process there), remotedocker (in a container), or cluster (Spark).")
OPTIONS = (
    Option(("-n", "--name"), "name", "What to call the machine here.", "NAME"),
    Option(("-a", "--address"), "address", "Its name or IP address, with :PORT if need be.", "ADDRESS"),
    Option(("-u", "--username"), "username", "Your user name there.", "USER"),
    Option(("-w", "--password"), "password", "Your password there; better leave it out and be asked.", "PASSWORD"),
    Option(("--password-stdin",), "password_stdin", "Read the password from stdin."),
    Option(("-k", "--use-azureml-ssh-key"), "new_key", "Make a key and print it, to be installed there by hand."),
    Option(("--private-key-file",), "key_file", "Log in with this key of yours.", "FILE", complete="file"),
    Option(("--private-key-passphrase",), "passphrase", "The passphrase of that key.", "PASSPHRASE"),
    Option(("--fingerprint",), "fingerprint", "The host key that the machine must show: SHA256:…", "SHA256"),
    Option(("--accept-host-key",), "accept", "Pin the host key that it shows, without asking."),
    Option(("--jig-home",), "home", "Where jig keeps its things there; ~/.jig when not given.", "DIR"),
    Option(("-t", "--type", "-type"), "type", "The older way to say KIND.", choices=KINDS),
    Option(("--cluster",), "cluster", "The oldest way to say cluster."),
    Option(("--project",), "project", "The project's folder; the current one when not given.", "DIR", complete="dir"),
)


def attach(args: Args) -> int:
    """Contact a machine, pin its host key, set up the login, and write its two files."""
    from jig.errors import UsageError
    from jig.machines.address import Address
    from jig.machines.attach import Wish
    from jig.machines.attach import attach as set_up
    from jig.project import Project, new_target_files, write_target

    project = Project.find(os.path.abspath(args.text("project") or os.curdir))
    kind = args.text("kind") or args.text("type") or ("cluster" if args.flag("cluster") else "remotedocker")
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is no kind of machine", f"write one of {', '.join(KINDS)}")
    name, address, user = args.required("name"), args.required("address"), args.required("username")
    login = Address.parse(user, address)
    known = name in project.target_names()
    if known:
        _check_same(project, name, login)
    else:
        new_target_files(project, name)  # before anybody is contacted
    wish = Wish(
        name,
        login,
        password=_password(args),
        new_key_by_hand=args.flag("new_key"),
        private_key_file=args.text("key_file"),
        passphrase=args.text("passphrase"),
        fingerprint=args.text("fingerprint"),
        accept_host_key=args.flag("accept"),
        home=args.text("home"),
    )
    facts = set_up(wish, _person())
    if known:
        print(f"attached {name} again; its files are as they were")
    else:
        for path in write_target(project, name, kind, address, user, wish.home):
            print(f"wrote {os.path.relpath(path)}")
    _report(facts)
    return 0


def _check_same(project: Project, name: str, login: object) -> None:
    """Attaching a name again renews the login; it does not turn the name into another machine."""
    from jig.errors import UsageError
    from jig.machines.address import Address

    target = project.compute_target(name)
    if target.address is None or Address.parse(target.username or "", target.address) != login:
        raise UsageError(f"{name}.compute exists and names another machine", f"jig computetarget detach {name}")


def _password(args: Args) -> str | None:
    given = args.text("password")
    if given is not None:
        print(
            "warning: a password on the command line can be seen by others; leave it out to be asked", file=sys.stderr
        )
        return given
    return sys.stdin.readline().rstrip("\n") if args.flag("password_stdin") else None


def _person() -> Any:
    from jig.machines.attach import Person

    def say(text: str) -> None:
        print(text)

    def confirm(question: str) -> bool:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            print(question, file=sys.stderr)
            return False
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def ask_password(prompt: str) -> str | None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        import getpass

        return getpass.getpass(prompt)

    return Person(say, confirm, ask_password)


def _report(facts: dict[str, Any]) -> None:
    from jig.cli.terminal import human_bytes, plain

    if not facts:
        return
    gpus = [f"{gpu['name']}, {gpu['memory.total']}, driver {gpu['driver_version']}" for gpu in facts["gpus"]]
    logout = {
        "survive": "go on after logout",
        "scope": "go on after logout, in a scope of their own",
        "killed": "ARE KILLED AT LOGOUT: ask an administrator for `loginctl enable-linger`",
    }
    rows = [
        ("machine", f"{facts['host']} ({facts['platform']})"),
        ("python", facts["python"]),
        ("GPU", "; ".join(gpus) or "none found (no nvidia-smi)"),
        ("disk", f"{human_bytes(facts['free_bytes'])} free for {facts['home']}"),
        ("docker", facts["docker"]),
        ("runs", logout[facts["logout"]]),
    ]
    print(plain(rows))


def _machine(args: Args) -> tuple[Project, str, SshMachine]:
    from jig.errors import UsageError
    from jig.machines.ssh import machine
    from jig.project import Project

    project = Project.find(os.getcwd())
    name = args.text("name") or args.required("word")
    target = project.compute_target(name)
    if target.address is None:
        raise UsageError(f"{name} is of type {target.kind}: there is no machine to reach")
    return project, name, machine(target)


def check(args: Args) -> int:
    """Look around on a machine again."""
    import json

    _, _, machine = _machine(args)
    facts = machine.ask("probe")["probe"]
    with open(os.path.join(machine.folder, "facts.json"), "w") as file:
        json.dump(facts, file, indent=1)
    print(f"host key: {machine.fingerprint()}")
    _report(facts)
    return 0


def detach(args: Args) -> int:
    """Forget a machine: its two files, and the key and host key kept for it here."""
    import shutil

    project, name, machine = _machine(args)
    target = project.compute_target(name)
    for suffix in (".compute", ".runconfig"):
        path = os.path.join(project.root, "aml_config", name + suffix)
        if os.path.exists(path):
            os.unlink(path)
            print(f"deleted {os.path.relpath(path)}")
    others = [project.compute_target(other) for other in project.target_names()]
    if any((other.address, other.username) == (target.address, target.username) for other in others):
        print(f"the key of {machine.address} stays: another target uses it")
        return 0
    machine.hang_up()
    shutil.rmtree(machine.folder, ignore_errors=True)
    print(f"the key of {machine.address} is forgotten here; runs that were brought home stay in the record")
    return 0
