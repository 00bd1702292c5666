"""`jig notebook`: Jupyter for a project, with a kernel for each run configuration."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Command, Group, Option
from jig.cli.options import PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.project import Project


def start(args: Args) -> int:
    """Serve notebooks until Ctrl-C; where that is done already, say where."""
    from jig.cli.workbench import port
    from jig.errors import JigError

    if sys.platform != "win32":
        from jig.notebook.serve import serve

        project, config, number = _project(args), args.text("config"), port(args.text("port"))
        config = config.removesuffix(".runconfig") if config is not None else None
        if config is not None:
            project.compute_target(project.run_config(config).target, to_run=True)
        return serve(project, config, number, args.flag("quiet"))
    raise JigError("this version of jig does not start notebooks on Windows itself", "use WSL there")


def end(args: Args) -> int:
    """End the server of this project."""
    from jig.errors import JigError
    from jig.notebook.known import stop
    from jig.runner.folder import default_home

    if not stop(_project(args), default_home()):
        raise JigError("no Jupyter server of this project is going", "start one:  jig notebook start")
    return 0


def _project(args: Args) -> Project:
    from jig.project import Project

    return Project.find(os.path.abspath(args.text("project") or os.curdir))


GROUP = Group(
    "notebook",
    "Jupyter for a project, with a kernel for each run configuration.",
    (
        Command(
            "start",
            "Start Jupyter in the project's folder, and open it in the browser.\n\nThe notebooks stay here; each run "
            "configuration is a kernel, named `PROJECT NAME`, whose cells run where its runs do: as a process or in a "
            "container, on this machine or over SSH, in its environment. With -c its kernel is what a new notebook "
            "gets. Listens on this computer only; the address has a token, another one at each start. Ctrl-C ends the "
            "server and its kernels.",
            start,
            (
                Option(
                    ("-c", "--run-configuration", "--runconfig"),
                    "config",
                    "The run configuration whose kernel a new notebook gets; plain Python 3 when not given.",
                    "NAME",
                    complete="runconfig",
                ),
                PROJECT,
                Option(("--no-browser",), "quiet", "Only print the address."),
                Option(("--port",), "port", "Listen on this port; on 8888 or the next free one when not given.", "N"),
            ),
            (),
            ("jig notebook start", "jig notebook start -c my_dsvm --no-browser"),
        ),
        Command(
            "stop",
            "End the project's Jupyter server, and its kernels.",
            end,
            (PROJECT,),
            (),
            ("jig notebook stop",),
        ),
    ),
)
