"""The verbs a runner understands: `supervise RUN` reads a run from stdin and becomes its supervisor; others answer."""

import errno
import os
import sys

from jig.runner import wire
from jig.runner.folder import Home, expand_home, make_private, runner_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


def supervise(words: "List[str]") -> None:
    """Take the run in, answer with its handle, and go on as its supervisor. `words` is for `ps`: the run's id."""
    if sys.platform == "win32":
        raise wire.Refused("this version of jig does not run scripts on Windows itself", "submit to another machine")

    from jig.runner import supervise as supervisor
    from jig.runner.taking_in import take_in
    from jig.system import close_inherited, detach
    from jig.system import quick_signal as signal

    # The caller may have ignored or blocked signals, and left descriptors open: none of that is meant for the run.
    close_inherited()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    request = wire.read_request(sys.stdin.buffer)
    home = Home(expand_home(request.get("home")))
    taken = take_in(home, request, sys.stdin.buffer, sys.stdout.buffer)
    if taken.container is not None:
        from jig.runner import container

        taken.begun = container.begin(taken, taken.container)
    if detach():
        supervisor.main(taken)
    if taken.begun is not None:
        taken.begun.leave()
    os.close(taken.lock)  # the supervisor's alone from here on: the kernel frees it when that one dies
    taken.using.release()
    wire.write_answer(sys.stdout.buffer, {"handle": {"run": taken.folder.id, "folder": taken.folder.path}})
    if "tail" in request:  # the client stays, and this process with it: no second one need be started
        from jig.runner.tail import Tail

        Tail(home, taken.folder.id, request["tail"], sys.stdout.buffer).run(True)
    os._exit(0)


def answer(verb: str, request: "Dict[str, Any]") -> "Dict[str, Any]":
    """The short verbs: one request, one answer. The local machine calls this without starting a process."""
    from jig.runner import collect, status

    home = Home(expand_home(request.get("home")))
    if verb == "status":
        return {"status": status.status(home, request["run"])}
    if verb == "stop":
        return {"status": status.stop(home, request["run"], request["grace_s"], request["timeout_s"])}
    if verb == "probe" and sys.platform != "win32":
        from jig.runner.probe import probe

        return {"probe": probe(home, request.get("container"))}
    if verb == "gpu" and sys.platform != "win32":
        import time

        from jig.runner.gpu import lease, look

        try:
            found: "Dict[str, Any]" = {"holders": lease.holders(), "trouble": ""}
        except lease.LeaseRefused as error:  # somebody has put something else in the place of the leases
            found = {"holders": [], "trouble": "%s (fix: %s)" % (error.reason, error.hint)}
        return dict(found, look=look.look(), time=time.time())
    if verb == "doctor" and sys.platform != "win32":
        from jig.runner import doctor

        wanted = (request.get("container"), request.get("environment"), request.get("spark"))
        return {"doctor": doctor.facts(home, *wanted)}
    if verb == "entrance" and sys.platform != "win32":
        from jig.runner import shell

        shell.find(home, request["run"], runner_root())
        return {"entrance": True}
    if verb == "runs":
        return {"runs": collect.run_ids(home)}
    if verb == "settle":
        return {"settled": settle(request["name"])}
    if verb in ("environment", "environments", "platform", "prune"):
        return about_environments(verb, home, request)
    if verb == "remove":
        return {"status": collect.remove_run(home, request["run"])}
    if verb == "collect":
        return {"freed": collect.unused_blobs(home)}
    if verb == "clean":
        return collect.clean(home, request)
    raise wire.Refused("this runner does not know the verb %r" % verb)


def about_environments(verb: str, home: Home, request: "Dict[str, Any]") -> "Dict[str, Any]":
    """What is built here, or could be: in folders and, for containers, in images."""
    from jig.runner import env_store, environment, virtual_packages

    if verb == "platform":
        return virtual_packages.machine_platform()
    if sys.platform != "win32":
        from jig.runner import image_store

        if verb == "environments":
            return image_store.add_images(home, env_store.listing(home.path))
        if verb == "prune":
            done = env_store.prune(home.path, request["older_than_s"], request["keep_bytes"])
            return image_store.prune_images(home, request, done)
        if request.get("container"):
            return image_store.where(home.path, request["container"], request["environment"])
    if verb == "environments":
        return {"environments": env_store.listing(home.path)}
    if verb == "prune":
        return env_store.prune(home.path, request["older_than_s"], request["keep_bytes"])
    place = environment.find(request["environment"], home.path)
    folder = place or environment.install_root(home.path, request["environment"])
    return {"folder": folder, "prepared": bool(place), "bytes": env_store.size(place) if place else 0}


def prepare() -> None:
    """Build an environment now, telling each step; the answer has what is in it."""
    from jig.runner import env_record, environment
    from jig.runner.blobs import BlobStore, UsingBlobs
    from jig.runner.taking_in import ask_engine, get_ready

    request = wire.read_request(sys.stdin.buffer)
    home = Home(expand_home(request.get("home")))

    def tell(text: str) -> None:
        wire.write_answer(sys.stdout.buffer, {"note": text})

    def has_left() -> bool:
        return wire.has_left(sys.stdin.buffer)

    log = os.path.join(home.path, "logs", os.path.basename(request["log"]))
    make_private(os.path.dirname(log))
    make_private(home.path)
    wanted, box = request["environment"], request.get("container")
    container = ask_engine(home, box, wanted)
    prepared = bool(container.look.image_id) if container else environment.is_prepared(wanted, home.path)
    with UsingBlobs(BlobStore(home.blobs)):
        if not prepared:
            get_ready(home, wanted, sys.stdin.buffer, sys.stdout.buffer, container)
        try:
            if container and box and sys.platform != "win32":
                from jig.runner import image

                made = image.ensure(container.look, wanted, log, tell, has_left)
                python = "%s in the image %s" % (made.python, made.tag or made.id)
                record = env_record.of_image(home.path, made.id) if made.prefix else ""
            else:
                python = environment.ensure(wanted, home.path, log, tell, has_left)
                record = env_record.of_folder(os.path.dirname(os.path.dirname(python)))
        except (environment.EnvironmentFailed, environment.NotStarted) as error:
            if has_left():
                raise EOFError
            named = log in error.reason or not os.path.exists(log)
            hints = [error.hint, "" if named else "the full log is %s" % log]
            raise wire.Refused(error.reason, "\n".join(filter(None, hints)))
    built = env_record.read(record) if wanted["kind"] != "user" else {}
    told = {"python": python, "environment": built, "platform": environment.platform_name()}
    wire.write_answer(sys.stdout.buffer, told)


def settle(name: str) -> str:
    """Give the runner that was just unpacked, this one, its final name; one that is there already is as good."""
    unpacked = runner_root()
    place = os.path.join(os.path.dirname(unpacked), os.path.basename(name))
    os.chmod(os.path.dirname(os.path.dirname(unpacked)), 0o700)  # the jig home: tar made it as the login's umask says
    try:
        os.rename(unpacked, place)
    except OSError:
        if not os.path.isdir(place):
            raise
        import shutil

        shutil.rmtree(unpacked)
    return place


def tail() -> None:
    """Send a run's files as they grow."""
    from jig.runner.tail import Tail

    request = wire.read_request(sys.stdin.buffer)
    home = Home(expand_home(request.get("home")))
    Tail(home, request["run"], request["offsets"], sys.stdout.buffer).run(request["follow"])


def outputs() -> None:
    """Send what a run left in outputs/."""
    from jig.runner.outputs import send

    request = wire.read_request(sys.stdin.buffer)
    send(Home(expand_home(request.get("home"))), request, sys.stdin.buffer, sys.stdout.buffer)


def send_blobs() -> None:
    """Send frozen files that a client does not have, or not any more; the answer says which are not here either."""
    from jig.runner.blobs import CHUNK, BlobStore, UsingBlobs

    request = wire.read_request(sys.stdin.buffer)
    store, out = BlobStore(Home(expand_home(request.get("home"))).blobs), sys.stdout.buffer
    with UsingBlobs(store):
        here = [name for name in request["wanted"] if store.has(name)]
        wire.write_answer(out, {"absent": sorted(set(request["wanted"]).difference(here))})
        for name in here:
            with open(store.place(name), "rb") as file:
                pieces = iter(lambda: file.read(CHUNK), b"")  # noqa: B023
                wire.write_blob(out, name, os.path.getsize(file.name), pieces, packed=True)
        wire.write_blobs_end(out)


LONG = {"prepare": prepare, "tail": tail, "outputs": outputs, "blobs": send_blobs}


def main(words: "List[str]") -> None:
    """Do one verb; what cannot be done is answered, not raised."""
    verb = words[0]
    try:
        if verb == "supervise":
            supervise(words[1:])
        elif verb == "shell" and sys.platform != "win32":
            from jig.runner import shell

            os._exit(shell.main(words[1]))
        elif verb in LONG:
            LONG[verb]()
        else:
            wire.write_answer(sys.stdout.buffer, answer(verb, wire.read_request(sys.stdin.buffer)))
    except wire.Refused as refusal:
        wire.write_answer(sys.stdout.buffer, {"error": refusal.message, "hint": refusal.hint, "code": refusal.code})
    except (EOFError, BrokenPipeError):
        os._exit(1)  # the client left: there is nobody to answer
    except ValueError as error:  # something that was sent is not what it was said to be
        wire.write_answer(sys.stdout.buffer, {"error": str(error), "hint": "", "code": "refused"})
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "free some space there; `jig experiment clean` gives back what no record needs" if full else ""
        if isinstance(error, PermissionError):
            hint = "is jigHome, in the .compute file, a folder of yours there?"
        wire.write_answer(sys.stdout.buffer, {"error": str(error), "hint": hint, "code": "system"})
