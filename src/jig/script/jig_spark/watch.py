"""What a Spark application is doing, asked of its own JVM once a second and written down while it runs."""

import json
import os
import sys
import time

from jig_spark import gateway

RECORD = "spark.jsonl"
EVERY_S = 1.0
FIRST_S = 2.5  # Spark takes as long to start, and needs the cores for that
STAGES = 20


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


def leave_behind(record):
    """A child that watches this process, whatever that becomes; whoever ends the run's processes ends it too."""
    parent = os.getpid()
    if os.fork():
        return
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, 256)
        _watch(record, parent)
    finally:
        os._exit(0)


def _watch(record, parent):
    time.sleep(FIRST_S)
    there, application, last = None, None, None
    while os.getppid() == parent:
        now = None
        try:
            if there is None:
                there = gateway.find(os.environ.get("JIG_RUN_ID", ""))
            if there is not None and application is None:
                application = Application.active(there)
                if application is not None:
                    record.write(**application.about())
            if application is not None:
                now = application.state()
        except gateway.NoAnswer:  # not there yet, or not any more; one look is no loss
            if there is not None:
                there.close()
            there = None
        if now is None:
            application = None
            if last and last["stages"]:  # which nobody can see the end of
                now = dict(last, stages=[], waits=False)
        if now is not None and now != last:
            record.write(**now)
            last = now
        time.sleep(EVERY_S)


class Application(object):
    """The SparkContext that is active."""

    def __init__(self, there, context):
        self._there, self._context = there, context
        self._tracker = there.call(context, "statusTracker")
        self._jobs = there.call(context, "dagScheduler")

    @classmethod
    def active(cls, there):
        """The one that there is; None while there is none."""
        contexts = there.singleton("org.apache.spark.SparkContext")
        context = there.option(contexts, "getActive")
        there.drop(contexts)
        return None if context is None else cls(there, context)

    def about(self):
        """Its id and name, and the port of its page where it has one."""
        there, context = self._there, self._context
        about = {"application": there.call(context, "applicationId"), "name": there.call(context, "appName")}
        port = (there.option(context, "uiWebUrl") or "").rpartition(":")[2].partition("/")[0]
        return dict(about, ui=int(port)) if port.isdigit() else about

    def state(self):
        """The stages that are at work, and how many jobs have been done; None when it has been stopped."""
        there, context = self._there, self._context
        if there.call(context, "isStopped"):
            for held in (self._jobs, self._tracker, context):
                there.drop(held)
            return None
        ids = sorted(there.array(self._tracker, "getActiveStageIds"))[:STAGES]
        stages = [stage for stage in map(self._stage, ids) if stage]
        running = len(there.array(self._tracker, "getActiveJobIds"))
        waits = bool(stages) and not any(stage["active"] for stage in stages) and not self._has_executors()
        jobs = {"running": running, "done": max(0, there.call(self._jobs, "numTotalJobs") - running)}
        return {"waits": waits, "stages": stages, "jobs": jobs}

    def _stage(self, number):
        there = self._there
        about = there.option(self._tracker, "getStageInfo", number)
        if about is None:
            return None
        stage = {
            "id": number,
            "name": there.call(about, "name").replace(os.getcwd() + os.sep, "")[:200],
            "tasks": there.call(about, "numTasks"),
            "done": there.call(about, "numCompletedTasks"),
            "active": there.call(about, "numActiveTasks"),
            "failed": there.call(about, "numFailedTasks"),
        }
        there.drop(about)
        return stage

    def _has_executors(self):
        """Whether somebody is there for tasks; on one machine the driver is."""
        there = self._there
        if there.call(self._context, "isLocal"):
            return True
        executors = there.array(self._tracker, "getExecutorInfos")
        for executor in executors:
            there.drop(executor)
        return len(executors) > 1  # the driver is counted too
