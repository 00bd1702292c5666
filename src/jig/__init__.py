"""A GPU workbench for people who train models; in a script, `jig.log` keeps metrics and `jig.params` parameters."""

__version__ = "0.1.0"
__all__ = ["__version__", "log", "log_image", "log_table", "params", "tag", "upload"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.track.metrics import log as _log
else:
    _log = None

_UNREADABLE = (ImportError, OSError)  # too many open files, or a disk that is out of reach: the script goes on
_told = False


# What these do is imported when first called: the whole client is this package too and must not pay for it.
def log(*args: "object", step: "object" = None, **values: "object") -> None:
    """Keep metrics of this run: `log("loss", 0.1)`, `log(epoch=3, accuracy=0.93)`, `log({"loss": 0.1}, step=3)`.

    A figure, a picture or a data frame is kept as an image or a table.
    In the run's file when the call returns, whatever happens next. Never raises; outside a run it does nothing.
    """
    global _log
    if _log is None:
        try:
            from jig.track.metrics import log as _log
        except _UNREADABLE as error:
            _not_kept(error)
            return
    _log(*args, step=step, **values)


def log_image(name: str, image: "object", step: "object" = None) -> None:
    """Keep an image: a figure, a picture, an array of pixels (height x width, or with 1, 3 or 4 channels), or a file.

    It is a file in outputs/images when the call returns. Never raises; outside a run it does nothing.
    """
    try:
        from jig.track.rich import log_image as keep
    except _UNREADABLE as error:
        _not_kept(error)
    else:
        keep(name, image, step)


def log_table(name: str, table: "object", columns: "object" = None, step: "object" = None) -> None:
    """Keep a table: a data frame, a list of dictionaries, a dictionary of columns, or rows and their `columns`.

    Never raises; outside a run it does nothing.
    """
    try:
        from jig.track.rich import log_table as keep
    except _UNREADABLE as error:
        _not_kept(error)
    else:
        keep(name, table, columns, step)


def params(*args: "object", **values: "object") -> None:
    """Keep parameters of this run: `params(lr=0.1, layers=[64, 64])`, `params(vars(args))`, `params(config)`.

    The last value of a name counts. Never raises; outside a run it does nothing.
    """
    try:
        from jig.track.facts import params as keep
    except _UNREADABLE as error:
        _not_kept(error)
    else:
        keep(*args, **values)


def tag(*args: "object", **values: "object") -> None:
    """Put tags on this run: `tag("baseline")`, `tag(stage="pretrain")`; None takes one off.

    Never raises; outside a run it does nothing.
    """
    try:
        from jig.track.facts import tag as keep
    except _UNREADABLE as error:
        _not_kept(error)
    else:
        keep(*args, **values)


def upload(path: str, content: "str | bytes | bytearray | memoryview") -> None:
    """Keep text or bytes as the file `path` of this run's outputs; outside a run it does nothing.

    Raises ValueError for a path that leaves the outputs folder, TypeError for content that is not text or bytes.
    """
    try:
        from jig.track.artifacts import upload as keep
    except _UNREADABLE as error:
        _not_kept(error)
    else:
        keep(path, content)


def _not_kept(error: Exception) -> None:
    """Tell once that something was not kept, because what keeps it could not be loaded; the next call tries again."""
    global _told
    if not _told:
        _told = True
        import sys

        try:
            sys.stderr.write("jig: METRICS ARE BEING LOST: {}; the script goes on\n".format(error))
        except (AttributeError, OSError, ValueError):
            pass  # there is no one left to tell
