"""`jig asset`: artifacts of runs that were promoted, by their links in the project."""

from __future__ import annotations

import os

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.options import FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args

LINK = Option(("-l", "--link-file"), "link", "The asset's link: assets/NAME.link.", "FILE", complete="file")
COLUMNS = ("asset", "version", "run_id", "artifact_path", "size", "created_utc", "here")


def list_assets(args: Args) -> int:
    """The assets of this project."""
    from jig.assets import keep, link
    from jig.cli.here import store
    from jig.cli.show import show
    from jig.cli.terminal import warn
    from jig.errors import StoreError
    from jig.project import Project
    from jig.runner.blobs import BlobStore

    root, blobs = Project.find(os.getcwd()).root, BlobStore(store().home.blobs)
    rows = []
    for name in link.names(root):
        try:
            found = link.read(os.path.join(root, link.FOLDER, name + link.SUFFIX))
        except StoreError as error:
            warn(error.message)
            continue
        for version in found.versions if args.flag("all") else (found.latest,):
            here = keep.kept(blobs, version.kind, version.sha256) is not None
            rows.append({"asset": name, "project": found.project, **version._asdict(), "here": here})
    show(rows, output=args.output, query=args.query, columns=COLUMNS, whole=("asset", "run_id"))
    return 0


def download(args: Args) -> int:
    """Write an asset's content into a folder."""
    from jig.assets import link
    from jig.assets.fetch import download
    from jig.cli.here import store
    from jig.cli.show import show
    from jig.cli.terminal import printable, warn

    path = _link_file(args)
    found = link.read(path)
    version = found.choose(args.text("version"))
    root = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    folder = os.path.abspath(args.text("directory") or os.curdir)
    files = download(store(), found, version, root, folder, args.flag("overwrite"), warn)
    if args.text("output") or args.text("query"):
        show(files, output=args.text("output"), query=args.text("query"))
    else:
        for place in files:
            print(printable(place))
    return 0


def _link_file(args: Args) -> str:
    """The link that was named, by its path or by the asset's name."""
    from jig.assets import link
    from jig.errors import UsageError
    from jig.project import Project
    from jig.project.names import is_name

    named = args.text("link") or args.text("name")
    if named is None:
        raise UsageError("no asset was named", "for example:  jig asset download -l assets/best_model.link -d .")
    if not os.path.isfile(named) and is_name(named) and not named.endswith(link.SUFFIX):
        return link.place(Project.find(os.getcwd()).root, named)
    return named


def delete(args: Args) -> int:
    """Remove an asset: its link, and its content where no run has it."""
    from jig.assets.promote import forget
    from jig.cli.here import store
    from jig.machines.local import LocalMachine
    from jig.project import Project

    record, name = store(), args.text("option") or args.required("name")
    versions, _ = forget(record, Project.find(os.getcwd()), name)
    LocalMachine(record.home.path).ask("collect")
    print(f"deleted {name}: {versions} versions" if versions != 1 else f"deleted {name}")
    return 0


NAME = Argument("name", "NAME", "The asset, by its name.")
GROUP = Group(
    "asset",
    "Artifacts that were promoted: list and fetch them.",
    (
        Command(
            "list",
            "List the assets of this project.",
            list_assets,
            (Option(("--all",), "all", "Every version, not only the latest."),),
            (),
            ("jig asset list -o table",),
            listing=True,
        ),
        Command(
            "download",
            "Write an asset's content into a folder.\n\nEvery byte is verified. What is not kept on this computer is "
            "fetched from the run, where the machine that has it is attached.",
            download,
            (
                LINK,
                Option(
                    ("-d", "--directory", "--output-directory"),
                    "directory",
                    "Where to; the current folder when not given.",
                    "DIR",
                    complete="dir",
                ),
                Option(("--version",), "version", "An earlier version, by its number.", "N"),
                Option(("--overwrite",), "overwrite", "Replace files that are there."),
                *FOR_PROGRAMS,
            ),
            (NAME,),
            ("jig asset download -l assets/best_model.link -d .",),
        ),
        Command(
            "delete",
            "Remove an asset and what only it keeps.",
            delete,
            (Option(("-n", "--name"), "option", "The asset's name.", "NAME"),),
            (NAME,),
        ),
    ),
)
