"""Becomes a shell, or a command, beside a run's script: in its folder, with its variables, as its user.

Started on the machine for a run that is a process, and inside the container for one that is in there: by the image's
own Python, 3.5 or newer.

    jig_shell.py enter RUN PID FOLDER [WORD ...]     PID: the script's, or a file that init writes it into
    jig_shell.py enter RUN PID FOLDER jig:FILE ...   a program of jig's own that stands beside this one
    jig_shell.py leave MARK                          hang up the shell that has MARK in its environment
"""

import _signal as signal
import os
import sys
import time

WAIT_S = 10.0  # for a script that is just being started
LOOK_S = 0.05
# The shell is the person's own, no part of the run: it is not ended as one, and what is logged in it is not the run's.
RUNS_OWN = (b"JIG_RUN_ID", b"JIG_RUN_DIR", b"JIG_KERNEL", b"PWD", b"OLDPWD", b"SHLVL", b"_")
# These tell of the terminal that the person sits at, and the script has none.
TERMINALS = (b"TERM", b"COLORTERM", b"TERM_PROGRAM", b"SSH_TTY", b"SSH_CONNECTION", b"SSH_CLIENT", b"COLUMNS", b"LINES")
MARK = b"JIG_SHELL_MARK"
OWN = b"jig:"
# A person's bash reads the usual files, which may put another Python first: then the run's variables are put back.
BASH = """\
__jig=$(export -p)
[ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
[ -r ~/.bashrc ] && . ~/.bashrc
eval "$__jig"
unset __jig
PS1="($JIG_SHELL) $PS1"
exec %d<&-
"""


def enter(run, where, folder, words):
    """Become the shell, or the command; returns the exit code when that fails."""
    variables = script_variables(where)
    if variables is None:
        return _refuse("the script of %s cannot be found, or hides its variables" % run)
    folder_of_run = variables.get(b"JIG_RUN_DIR", b"")
    for name in RUNS_OWN + TERMINALS + endpoint(variables):
        variables.pop(name, None)
    own = os.environb
    variables.update((name, own[name]) for name in TERMINALS + (MARK,) if name in own)
    variables[b"JIG_SHELL"] = os.fsencode(run)
    argv = [os.fsencode(word) for word in words] or shell(variables)
    if argv[0].startswith(OWN):  # on the interpreter that is surely there: ours
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.fsdecode(argv[0][len(OWN) :]))
        argv[:1] = [os.fsencode(word) for word in (sys.executable, "-I", "-S", beside)]
        variables[b"JIG_RUN_DIR"] = folder_of_run
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these; programs expect the system's own behaviour
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(folder)
        os.execvpe(argv[0], argv, variables)
    except OSError as error:
        sys.stderr.write("jig: %s: %s\n" % (os.fsdecode(argv[0]), error.strerror))
        return 127 if isinstance(error, FileNotFoundError) else 126


def endpoint(variables):
    """The variables that lead to the run's own MLflow endpoint; a person's own are not among them."""
    if variables.get(b"MLFLOW_TRACKING_URI") != variables.get(b"JIG_MLFLOW"):
        return (b"JIG_MLFLOW",)
    is_ours = variables.get(b"MLFLOW_TRACKING_TOKEN", b"").startswith(b"jig-")
    return (b"JIG_MLFLOW", b"MLFLOW_TRACKING_URI") + ((b"MLFLOW_TRACKING_TOKEN",) if is_ours else ())


def script_variables(where):
    """What the script was started with, as bytes; None when there is no such process."""
    end = time.monotonic() + WAIT_S
    while True:
        pid = where if where.isdigit() else _read_pid(where)
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                pairs = [pair.partition(b"=") for pair in file.read().split(b"\0")]
        except OSError:
            pairs = []
        variables = {name: value for name, equals, value in pairs if equals}
        if b"JIG_RUN_ID" in variables:
            return variables
        if where.isdigit() or time.monotonic() > end:
            return None
        time.sleep(LOOK_S)


def _read_pid(path):
    import json

    try:
        with open(path) as file:
            return json.load(file)["pid"]
    except (OSError, ValueError, KeyError):  # not written yet
        return 0


def shell(variables):
    """The person's shell, as words; where that is not installed, what there is."""
    folders = variables.get(b"PATH", b"").split(b":") + [b"/bin", b"/usr/bin"]
    places = [variables.get(b"SHELL", b"")] + [os.path.join(folder, b"bash") for folder in folders]
    found = [place for place in places if os.path.isabs(place) and os.access(place, os.X_OK)]
    chosen = found[0] if found else b"/bin/sh"
    if os.path.basename(chosen) != b"bash":
        return [chosen]
    reading, writing = os.pipe()
    os.write(writing, (BASH % reading).encode())
    os.close(writing)
    os.set_inheritable(reading, True)
    return [chosen, b"--rcfile", b"/dev/fd/%s" % str(reading).encode(), b"-i"]


def leave(mark):
    """Hang up the shell with this mark, as a terminal that is closed would; the engine does not do so by itself."""
    wanted = MARK + b"=" + os.fsencode(mark)
    marked = {}
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                is_marked = wanted in file.read().split(b"\0")
            with open("/proc/%s/stat" % name, "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:  # not a process, not ours, or gone
            continue
        if is_marked and int(name) != os.getpid():
            marked[int(name)] = parent
    for pid in [pid for pid, parent in marked.items() if parent not in marked]:
        try:
            os.kill(pid, signal.SIGHUP)
            os.kill(pid, signal.SIGCONT)
        except OSError:
            continue
    return 0


def _refuse(text):
    sys.stderr.write("jig: %s\n" % text)
    return 125


def main(words):
    """What the words ask for."""
    if words[0] == "leave":
        return leave(words[1])
    return enter(words[1], words[2], words[3], words[4:])


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)
