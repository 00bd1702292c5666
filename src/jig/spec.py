"""RunSpec: what is wanted, before anything is decided about where its parts come from."""

from __future__ import annotations

from jig.errors import UsageError
from jig.project import ComputeTarget, RunConfig, SparkSpec
from jig.values import Value

FILE_WORD = "$file"
# What runs in a place that is held open for shells.
HOLD = "import time\nwhile True:\n    time.sleep(3600)  # jig shell"


# What is said to be the script of a notebook's kernel, and what is.
NOTEBOOK = "(notebook)"
KERNEL = ("-m", "jig_kernel")


class RunSpec(Value):
    """One run as the person asked for it: files and command line already weighed against each other."""

    project: str
    project_root: str
    run_config: RunConfig
    target: ComputeTarget
    script: str  # empty: none
    arguments: tuple[str, ...]
    params: tuple[tuple[str, str | float | int | bool], ...] = ()
    spark: SparkSpec | None = None  # of a run whose framework is PySpark
    kernel: bool = False  # there is no script: it is a notebook's kernel

    @property
    def named(self) -> str:
        """The script as a record has it."""
        return NOTEBOOK if self.kernel else self.script

    @property
    def words(self) -> tuple[str, ...]:
        """What the interpreter is given; without a script there is only a place to be held open."""
        if self.kernel:
            return KERNEL
        if not self.script:
            return ("-c", HOLD)
        # The interpreter would take a name with a leading dash for an option of its own.
        return (f"./{self.script}" if self.script.startswith("-") else self.script, *self.arguments)


def command_line(run_config: RunConfig, script: str | None, arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Script and arguments: the command line beats ArgumentVector, where `$file` is the script of the command line."""
    vector = run_config.argument_vector
    if script is not None and (arguments or FILE_WORD not in vector):
        return script, arguments
    words = [script if word == FILE_WORD else word for word in vector]
    if not words or None in words:
        raise UsageError(
            f"no script was named, and ArgumentVector of {run_config.name}.runconfig does not name one",
            f"name it: jig experiment submit -c {run_config.name} train.py",
        )
    first, *rest = [str(word) for word in words]
    return first, tuple(rest)
