"""A Spark cluster that is reached by its master alone: attached, and looked at."""

from __future__ import annotations

import os

from jig.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.doctor import Finding
    from jig.project import ComputeTarget, Project

ANSWER_S = 5.0
FIX = "start the master, or mend `sparkMaster`: the address stands at the top of its page"


def attach_here(args: Args, project: Project) -> int:
    """Write the files of a cluster whose driver runs on this computer, and tell whether its master answers."""
    target, written = write_here(args, project)
    for path in written:
        print(f"wrote {os.path.relpath(path)}")
    check(target)
    return 0


def write_here(args: Args, project: Project) -> tuple[ComputeTarget, tuple[str, ...]]:
    """The target and its new files; UsageError for what means nothing without a login, and for a bad address."""
    from jig.project import ComputeTarget, new_target_files, write_target

    name, master = args.required("name"), args.required("address")
    for option in ("username", "password", "key_file", "fingerprint", "image", "master"):
        if args.text(option) is not None:
            raise UsageError(
                f"{master} is reached without a login, so that --{option.replace('_', '-')} means nothing",
                "for a driver on another machine:  attach cluster -a HOST -u USER --master " + master,
            )
    _places(master)
    new_target_files(project, name)
    target = ComputeTarget(name, "cluster", spark_master=master, jig_home=args.text("home"))
    return target, tuple(write_target(project, target))


def check(target: ComputeTarget) -> int:
    """Tell whether the master answers; exit code 1 when it does not."""
    answers, said = _look(target)
    print("\n".join(said))
    if not answers:
        print(f"fix: {FIX}")
    return 0 if answers else 1


def finding(target: ComputeTarget) -> Finding:
    """The same, as the doctor says it."""
    from jig.doctor import BAD, OK, Finding

    answers, said = _look(target)
    return Finding("Spark master", "\n".join(said), OK if answers else BAD, "" if answers else FIX)


def _look(target: ComputeTarget) -> tuple[bool, list[str]]:
    """Whether one of the addresses answers, and what is to be said of each."""
    import socket

    master, said = target.spark_master or "", list[str]()
    if not master.startswith("spark://"):
        return True, [f"{target.name} has the master {master}: there is nothing to look at before a run"]
    for host, port in _places(master):
        try:
            socket.create_connection((host, port), ANSWER_S).close()
        except OSError as error:
            said.append(f"{host}:{port} does not answer: {error.strerror or error}")
        else:
            return True, [*said, f"{host}:{port} answers"]
    return False, said


def _places(master: str) -> list[tuple[str, int]]:
    """Host and port of each of the addresses."""
    places = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise UsageError(f"{master!r} is no address of a Spark master", "write it as  spark://HOST:7077")
        places.append((host.strip("[]"), int(port)))
    return places
