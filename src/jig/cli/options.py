"""Options that several commands take alike."""

from __future__ import annotations

from jig.cli.grammar import LISTING, OUTPUTS, Argument, Option

CONFIG = Option(
    ("-c", "--run-configuration", "--runconfig"),
    "config",
    "The run configuration: aml_config/NAME.runconfig.",
    "NAME",
    complete="runconfig",
)
TARGET = Option(
    ("-t", "--target"),
    "target",
    "Run on this compute target instead of the configuration's own.",
    "NAME",
    complete="target",
)
PROJECT = Option(
    ("--project",), "project", "The project's folder; the current one when not given.", "DIR", complete="dir"
)
RUN = Option(
    ("-r", "--run"),
    "run",
    "The run: its id or a unique beginning of it; the latest when not given.",
    "ID",
    complete="run",
)
RUN_WORD = Argument("id", "ID", "The same as --run.", complete="run")
CONDA = Option(
    ("-d", "--conda-dependencies"),
    "conda",
    "Use this conda file instead of the configuration's.",
    "FILE",
    complete="file",
)
OLD_TARGET = Option(
    ("-t", "--target"),
    "target",
    "Not needed: a run knows its target. Accepted for old scripts.",
    "NAME",
    complete="target",
)
# Of a command that writes lines to read unless a program asks.
FOR_PROGRAMS = (
    Option(
        ("-o", "--output"),
        "output",
        "Write what was found in this form, for a program; lines to read, when neither it nor --query is given.",
        choices=OUTPUTS,
    ),
    *LISTING[1:],  # --query
)
