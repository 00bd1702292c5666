"""`jig computetarget attach`: in every spelling that the original ever had."""

from __future__ import annotations

import os
import sys

from jig.cli.attached import judged, login_of
from jig.cli.grammar import Argument, Option
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.doctor import Finding
    from jig.machines.address import Address
    from jig.machines.attach import Person
    from jig.project import ComputeTarget, Project

KINDS = ("remote", "remotedocker", "localdocker", "docker", "cluster")
KIND_WORD = Argument(
    "kind",
    "KIND",
    "remote (a process there), remotedocker (a container there), cluster (Spark), or localdocker (a container here).",
)
OPTIONS = (
    Option(("-n", "--name"), "name", "What to call the machine here.", "NAME"),
    Option(
        ("-a", "--address"),
        "address",
        "Its name or IP address, with :PORT if need be; for a cluster also its master, spark://HOST:7077.",
        "ADDRESS",
    ),
    Option(("-u", "--username"), "username", "Your user name there.", "USER"),
    Option(("-w", "--password"), "password", "Your password there; better leave it out and be asked.", "PASSWORD"),
    Option(("--password-stdin",), "password_stdin", "Read the password from stdin."),
    Option(("-k", "--use-azureml-ssh-key"), "new_key", "Make a key and print it, to be installed there by hand."),
    Option(("--private-key-file",), "key_file", "Log in with this key of yours.", "FILE", complete="file"),
    Option(("--private-key-passphrase",), "passphrase", "The passphrase of that key.", "PASSPHRASE"),
    Option(("--fingerprint",), "fingerprint", "The host key that the machine must show: SHA256:…", "SHA256"),
    Option(("--accept-host-key",), "accept", "Pin the host key that it shows, without asking."),
    Option(
        ("--image",), "image", "The image that scripts run in, in a container; one with Python when not given.", "IMAGE"
    ),
    Option(("--gpu",), "gpu", "Give containers the machine's NVIDIA GPUs: nvidiaDocker: true."),
    Option(("--master",), "master", "The Spark master of a cluster: spark://HOST:7077; yarn when not given.", "MASTER"),
    Option(("--jig-home",), "home", "Where jig keeps its things there; ~/.jig when not given.", "DIR"),
    Option(("-t", "--type", "-type"), "type", "The older way to say KIND.", choices=KINDS),
    Option(("--cluster",), "cluster", "The oldest way to say cluster."),
    Option(("--project",), "project", "The project's folder; the current one when not given.", "DIR", complete="dir"),
)


class Attached(Value):
    """What an attach did: the target, the files that are new (none when it was attached before), what was found."""

    target: ComputeTarget
    written: tuple[str, ...]
    found: list[Finding]
    wants_gpu: bool


def attach(args: Args) -> int:
    """Contact a machine, pin its host key, set up the login, and write its two files. Here there is only Docker."""
    from jig.cli import doctor
    from jig.doctor import gpu_run_works, run_starts

    if _is_master_alone(args):
        from jig.cli import spark

        return spark.attach_here(args, _project(args))
    done = carry_out(args, _person())
    for path in done.written:
        print(f"wrote {os.path.relpath(path)}")
    if not done.written:
        print(f"attached {done.target.name} again; its files are as they were")
    doctor.report(done.found, done.wants_gpu)
    if done.target.address is None:
        if not (gpu_run_works if done.wants_gpu else run_starts)(done.found):
            print(f"once that is mended:  jig computetarget check {done.target.name}")
    elif done.written and done.target.in_container:
        said = "says `Framework: PySpark`, as it always did: for a Python script, write Python there"
        print(f"{done.target.name}.runconfig {said}")
    return 0


def carry_out(args: Args, person: Person) -> Attached:
    """Attach what the words ask for, with this person to ask; all or nothing."""
    from jig.cli import container
    from jig.machines.address import Address
    from jig.machines.attach import Wish
    from jig.machines.attach import attach as set_up
    from jig.project import ComputeTarget, new_target_files, write_target

    project = _project(args)
    if _is_master_alone(args):
        from jig.cli import spark

        target, paths = spark.write_here(args, project)
        return Attached(target, paths, [spark.finding(target)], False)
    kind = _kind(args) or "remotedocker"
    image = container.image(args, kind)
    if kind == "localdocker":
        return Attached(*container.attach_here(args, project, image))
    name, address, user = args.required("name"), args.required("address"), args.required("username")
    login = Address.parse(user, address)
    known = name in project.target_names()
    if known:
        target = _check_same(project, args, login)
    else:
        new_target_files(project, name)  # before anybody is contacted
        target = ComputeTarget(
            name, kind, address, user,
            base_docker_image=image, nvidia_docker=args.flag("gpu"), jig_home=args.text("home"),
            spark_master=_master(args, kind),
        )  # fmt: skip
    _check_one_way(args)
    wish = Wish(
        name,
        login,
        password=_password(args),
        new_key_by_hand=args.flag("new_key"),
        private_key_file=args.text("key_file"),
        passphrase=args.text("passphrase"),
        fingerprint=_fingerprint(args),
        accept_host_key=args.flag("accept"),
        home=target.jig_home,
        container=container.question(target),
    )
    written: list[str] = []

    def write() -> None:
        if not known:
            written.extend(write_target(project, target))

    facts = set_up(wish, person, write)
    return Attached(target, tuple(written), *judged(facts, target))


def _is_master_alone(args: Args) -> bool:
    """Whether this is a cluster that is reached by its Spark master, and the driver of a run is here."""
    return _kind(args) == "cluster" and args.required("address").startswith("spark://")


def _project(args: Args) -> Project:
    from jig.project import Project

    return Project.find(os.path.abspath(args.text("project") or os.curdir))


def _master(args: Args, kind: str) -> str | None:
    """The Spark master of a cluster, if one was named."""
    from jig.errors import UsageError

    master = args.text("master")
    if master is not None and kind != "cluster":
        raise UsageError(f"--master is for a cluster, and this is to be {kind}", "attach cluster …")
    if master is not None and master != "yarn" and not master.startswith(("spark://", "k8s://")):
        raise UsageError(f"{master!r} is no Spark master", "write yarn, or an address such as spark://HOST:7077")
    return master


def _kind(args: Args) -> str | None:
    """The kind in any of its spellings, if one was named."""
    from jig.errors import UsageError, nearest
    from jig.project.keys import OLD_KINDS

    kind = args.text("kind") or args.text("type") or ("cluster" if args.flag("cluster") else None)
    if kind is not None and kind not in KINDS:
        same = [known for known in KINDS if sorted(known) == sorted(kind)]  # dockerlocal
        close = same[0] if same else nearest(kind, KINDS)
        advice = f"did you mean {close}? " if close else ""
        raise UsageError(f"{kind!r} is no kind of machine", f"{advice}write one of {', '.join(KINDS)}")
    return OLD_KINDS.get(kind, kind) if kind else None


def _check_same(project: Project, args: Args, login: Address) -> ComputeTarget:
    """Attaching a name again renews the login; it does not turn the name into another machine. Returns what it is."""
    from jig.errors import UsageError

    name = args.required("name")
    target = project.compute_target(name)
    if login_of(target) != login:
        raise UsageError(f"{name}.compute exists and names another machine", f"jig computetarget detach {name}")
    for key, wanted, found in (
        ("type", _kind(args), target.kind),
        ("jigHome", args.text("home"), target.jig_home),
        ("sparkMaster", args.text("master"), target.spark_master),
        ("baseDockerImage", args.text("image"), target.base_docker_image),
        ("nvidiaDocker", "true" if args.flag("gpu") else None, "true" if target.nvidia_docker else None),
    ):
        if wanted not in (None, found):
            says = f"says `{key}: {found}`" if found else f"has no `{key}`"
            raise UsageError(
                f"{name}.compute {says}, not {wanted}", f"change it there, or:  jig computetarget detach {name}"
            )
    return target


def _check_one_way(args: Args) -> None:
    from jig.errors import UsageError

    ways = {"--password": args.text("password") is not None, "--password-stdin": args.flag("password_stdin"),
            "-k": args.flag("new_key"), "--private-key-file": args.text("key_file") is not None}  # fmt: skip
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two ways to log in", "give one of them, or none to be asked")
    if args.text("passphrase") is not None and not ways["--private-key-file"]:
        raise UsageError("--private-key-passphrase is for a --private-key-file, which was not given")


def _fingerprint(args: Args) -> str | None:
    """The fingerprint that was given, as ssh writes it."""
    from base64 import b64decode

    from jig.errors import UsageError

    given = args.text("fingerprint")
    if given is None:
        return None
    kind, _, value = given.partition(":")
    try:
        is_one = kind == "SHA256" and len(b64decode(value.rstrip("=") + "=", validate=True)) == 32
    except ValueError:
        is_one = False
    if not is_one:
        raise UsageError(f"{given!r} is not a fingerprint", "write it as `ssh-keygen -lf` prints it:  SHA256:…")
    return given.rstrip("=")


def _password(args: Args) -> str | None:
    for option in ("password", "passphrase"):
        if args.text(option) is not None:
            hint = "leave it out to be asked" if option == "password" else "an agent (ssh-add) needs none here"
            print(f"warning: a {option} on the command line can be seen by others; {hint}", file=sys.stderr)
    if not args.flag("password_stdin"):
        return args.text("password")
    from jig.errors import UsageError

    line = sys.stdin.buffer.readline().decode(errors="surrogateescape")  # as bytes: it may be in any encoding
    if not line.rstrip("\n"):
        raise UsageError("there is no password on stdin", "pipe it in, one line:  … | jig computetarget attach …")
    return line.rstrip("\n")


def _person() -> Person:
    from jig.machines.attach import Person

    def say(text: str) -> None:
        print(text)

    def warn(text: str) -> None:
        print(f"warning: {text}", file=sys.stderr)

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

    return Person(say, warn, confirm, ask_password)
