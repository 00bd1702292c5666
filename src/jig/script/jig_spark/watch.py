"""What a Spark application is doing, asked of its own page once a second and written down while it runs."""

import json
import os
import sys
import time

RECORD = "spark.jsonl"
EVERY_S = 1.0
FIRST_S = 2.5  # Spark takes as long to start, and needs the cores for that
TRIES = 16  # Spark takes the next port when somebody was faster
LONGEST = 4 << 20


class Record:
    """The run's file of what Spark does; one line a write, so that nobody reads half of one."""

    def __init__(self, folder):
        self._place = os.path.join(folder, RECORD)

    def write(self, **fields):
        """Append a line; a full disk costs the line, and not the run."""
        line = json.dumps(dict(fields, time=round(time.time(), 3)), sort_keys=True) + "\n"
        try:
            descriptor = os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            sys.stderr.write("jig: %s could not be written: %s\n" % (RECORD, error.strerror))


def leave_behind(port, record):
    """A child that watches this process, whatever that becomes; whoever ends the run's processes ends it too."""
    parent = os.getpid()
    if os.fork():
        return
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, 256)
        _watch(port, record, parent)
    finally:
        os._exit(0)


def _watch(port, record, parent):
    time.sleep(FIRST_S)
    from http.client import HTTPConnection

    application, told, last = None, None, None
    while os.getppid() == parent:
        try:
            if application is None:
                application = _find(HTTPConnection, port)
                if application and application != told:
                    record.write(ui=application[0], application=application[1], name=application[2])
                    told = application
            else:
                now = _state(HTTPConnection, *application[:2])
                if now != last:
                    record.write(**now)
                    last = now
        except (OSError, ValueError, KeyError, TypeError):  # not there yet, or not any more; one look is no loss
            application = None
            if last and last["stages"]:  # which nobody can see the end of
                last = dict(last, stages=[])
                record.write(**last)
        time.sleep(EVERY_S)


def _ask(connect, port, path):
    from http.client import HTTPException

    connection = connect("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/v1/applications" + path)
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise OSError(answer.status)
            return json.loads(answer.read(LONGEST).decode())
    except HTTPException as error:  # what listens there may speak anything
        raise OSError(str(error))
    finally:
        connection.close()


def _find(connect, first):
    """The port, the id and the name of this run's application; None while there is none."""
    own = os.environ.get("JIG_RUN_ID", "")
    for port in range(first, first + TRIES):
        try:
            for about in _ask(connect, port, ""):
                properties = dict(map(tuple, _ask(connect, port, "/%s/environment" % about["id"])["sparkProperties"]))
                if properties.get("spark.jig.run") == own:
                    return port, about["id"], about["name"]
        except (OSError, ValueError, KeyError, TypeError):  # nobody listens, or another program, or another's Spark
            continue
    return None


def _state(connect, port, application):
    """The stages that are at work, and how many jobs have been done."""
    stages = [
        {
            "id": about["stageId"],
            "name": about["name"].replace(os.getcwd() + os.sep, "")[:200],
            "tasks": about["numTasks"],
            "done": about["numCompleteTasks"],
            "active": about["numActiveTasks"],
            "failed": about["numFailedTasks"],
        }
        for about in _ask(connect, port, "/%s/stages?status=active" % application)
    ]
    jobs = _ask(connect, port, "/%s/jobs" % application)
    going = [job for job in jobs if job["status"] == "RUNNING"]
    waits = bool(stages) and not any(stage["active"] for stage in stages)
    return {
        "waits": waits and not _executors(connect, port, application),
        "stages": sorted(stages, key=lambda stage: stage["id"])[:20],
        "jobs": {
            "running": len(going),
            "done": len(jobs) - len(going),
            "failed": len([job for job in jobs if job["status"] == "FAILED"]),
        },
    }


def _executors(connect, port, application):
    """How many there are for tasks; on one machine the driver is one."""
    found = _ask(connect, port, "/%s/executors" % application)
    return len([about for about in found if about["isActive"] and about["totalCores"] > 0])
