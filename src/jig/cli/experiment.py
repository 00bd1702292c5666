"""`jig experiment`: submit, follow, ask about and end runs."""

from __future__ import annotations

import sys

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.options import CONDA, CONFIG, FOR_PROGRAMS, OLD_TARGET, PROJECT, RUN, RUN_WORD, TARGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jig.cli.grammar import Args


def _later(module: str, name: str) -> Callable[[Args], int]:
    """The function of a module beside this one, which is imported when the command is run."""

    def run(args: Args) -> int:
        place = f"jig.cli.{module}"
        __import__(place)  # importlib.import_module would cost another import
        code: int = getattr(sys.modules[place], name)(args)
        return code

    return run


SUBMIT = Command(
    "submit",
    "Run a script on a compute target.\n\n"
    "Everything after SCRIPT belongs to the script, options included. Without SCRIPT the configuration's "
    "ArgumentVector is run. The exit code is the script's own.",
    _later("submit", "submit"),
    (
        CONFIG,
        TARGET,
        PROJECT,
        Option(("-a", "--async"), "detach", "Return at once; the run goes on by itself."),
        CONDA,
        Option(
            ("-s", "--spark-dependencies"),
            "spark",
            "Use this Spark file instead of the configuration's.",
            "FILE",
            complete="file",
        ),
        Option(("--dry-run",), "dry_run", "Print the whole plan and do nothing."),
        Option(("--large",), "large", "Allow a project of more than 1 GB."),
        Option(("--wait",), "wait", "Accepted for old scripts: waiting is the default.", hidden=True),
    ),
    (
        Argument(
            "script", "SCRIPT", "The script, then its own arguments; or NAME.runconfig.", rest=True, complete="file"
        ),
    ),
    (
        "jig experiment submit -c local train.py --epochs 3",
        "jig experiment submit -c local --dry-run train.py",
        "jig submit -a -c local train.py",
    ),
)

GROUP = Group(
    "experiment",
    "Submit runs, follow them, and end them.",
    (
        SUBMIT,
        Command(
            "prepare",
            "Build a run configuration's environment now.",
            _later("submit", "prepare"),
            (CONFIG, TARGET, PROJECT, CONDA),
        ),
        Command(
            "reproduce",
            "Make a run again.\n\n"
            "With the code that it froze, the versions of packages that it really had, its arguments, variables and "
            "parameters; on the target that it had, or on another one. What could not be the same is listed before it "
            "starts, and kept in the record of the new run. The exit code is the script's own; with --async, or with "
            "--output, it is 0 once the run is submitted.",
            _later("reproduce", "reproduce"),
            (
                RUN,
                Option(
                    CONFIG.names,
                    "config",
                    "Run with this run configuration's target; the run's own when not given.",
                    "NAME",
                    complete="runconfig",
                ),
                TARGET,
                PROJECT,
                Option(("-a", "--async"), "detach", "Return at once; the run goes on by itself."),
                Option(("--dry-run",), "dry_run", "Say what would be the same, and do nothing."),
                Option(("-w", "--wait"), "wait", "Accepted: waiting is the default.", hidden=True),
                *FOR_PROGRAMS,
            ),
            (RUN_WORD,),
            ("jig experiment reproduce -r ID", "jig experiment reproduce -r ID -c gpu_box -a"),
        ),
        Command("status", "Say how a run is.", _later("run", "status"), (RUN, OLD_TARGET), (RUN_WORD,), listing=True),
        Command(
            "logs",
            "Print a run's output, or follow it.",
            _later("run", "logs"),
            (
                RUN,
                Option(("-f", "--follow"), "follow", "Go on until the run ends; the exit code is the script's."),
                Option(("--rank",), "rank", "Of a run of several processes, this one alone.", "N"),
            ),
            (RUN_WORD,),
            ("jig logs -f", "jig logs --rank 2"),
        ),
        Command(
            "cancel",
            "End a run and everything it started.",
            _later("run", "cancel"),
            (
                RUN,
                OLD_TARGET,
                Option(
                    ("--grace",),
                    "grace",
                    "Seconds between asking the script to end and killing it; 10 when not given.",
                    "SECONDS",
                ),
            ),
            (RUN_WORD,),
        ),
        Command(
            "shell",
            "Open a shell where a run is, or in a fresh place.\n\n"
            "The shell is in the run's folder, or container, and has the variables of its script. With -c nothing is "
            "run: the project's files and environment are laid out as for a submit, and are gone when the shell ends. "
            "A COMMAND is run instead of a shell; the exit code is its own.",
            _later("shell", "shell"),
            (
                Option(
                    RUN.names,
                    "run",
                    "The run: its id or a unique beginning of it; the latest that is going when not given.",
                    "ID",
                    complete="run",
                ),
                CONFIG,
                TARGET,
                PROJECT,
                CONDA,
            ),
            (
                RUN_WORD,
                Argument("command", "COMMAND", "What to run instead of a shell.", rest=True, dashed=True),
            ),
            ("jig shell", "jig shell -r ID -- nvidia-smi", "jig shell -c docker"),
        ),
        Command(
            "diagnostics",
            "Pack a run's code and logs into diagnostics.zip.",
            _later("upkeep", "diagnostics"),
            (
                RUN,
                OLD_TARGET,
                Option(
                    ("--file",), "file", "Where to write it; ./diagnostics.zip when not given.", "FILE", complete="file"
                ),
            ),
            (RUN_WORD,),
        ),
        Command(
            "clean",
            "Give back disk space that no record needs.\n\n"
            "Here, and on every machine that has runs of yours. In Docker what jig made there goes, unless a living "
            "run uses it: containers, and images with an environment, which are built again when needed. Base images "
            "and everything else stay.",
            _later("upkeep", "clean"),
            (
                Option(("--keep-work",), "keep_work", "Keep the code copies of ended runs."),
                Option(("--keep-images",), "keep_images", "Keep the images with environments."),
            ),
        ),
    ),
)
