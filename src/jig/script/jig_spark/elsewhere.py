"""A driver in YARN's care: spark-submit only waits for it, so that its end, and a cancel, are ours to see to."""

import os
import re
import shutil
import signal
import subprocess
import sys

APPLICATION = re.compile(rb"\b(application_\d+_\d+)\b")
URL = re.compile(rb"tracking URL: (\S+)")
KILL_S, LOGS_S = 60, 120


def run(argv, record):
    """Run spark-submit to its end; whoever ends us ends the application there. Returns its exit code."""
    # With its descriptors: one of them may be the file with the hidden settings.
    going = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False)
    application, stopped = [], []

    def kill_there():
        if application and stopped:
            _yarn("application", "-kill", application[0], limit_s=KILL_S)

    def stop(*_):
        stopped.append(True)
        kill_there()
        going.terminate()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        for line in going.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            found, page = APPLICATION.search(line), URL.search(line)
            if found and not application:
                application.append(found.group(1).decode())
                record.write(application=application[0])
                kill_there()  # one that was handed in just when we were told to stop
            if page:
                record.write(page=page.group(1).decode(errors="replace"))
        code = going.wait()
        if application:
            said = _yarn("logs", "-applicationId", application[0], limit_s=LOGS_S)
            if said:
                sys.stdout.buffer.write(b"\n" + said)
                sys.stdout.buffer.flush()
        return code if code >= 0 else 128 - code
    finally:
        signal.signal(signal.SIGTERM, before)
        going.stdout.close()


def _yarn(*words, **limit):
    """What the program `yarn` prints; nothing where there is none, or it takes too long."""
    program = shutil.which("yarn") or os.path.join(os.environ.get("HADOOP_HOME", "/usr"), "bin", "yarn")
    try:
        done = subprocess.run(
            (program,) + words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit["limit_s"]
        )
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write("jig: yarn %s: %s\n" % (words[0], error))
        return b""
    return done.stdout
