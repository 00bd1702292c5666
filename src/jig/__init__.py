"""A GPU workbench for people who train models; in a script, `jig.log` keeps metrics and `jig.upload` artifacts."""

__version__ = "0.1.0"
__all__ = ["__version__", "log", "upload"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.track.metrics import log as _log
else:
    _log = None


# What these two do is imported when first called: the whole client is this package too and must not pay for it.
def log(*args: "object", step: "object" = None, **values: "object") -> None:
    """Keep metrics of this run: `log("loss", 0.1)`, `log(epoch=3, accuracy=0.93)`, `log({"loss": 0.1}, step=3)`.

    In the run's file when the call returns, whatever happens next. Never raises; outside a run it does nothing.
    """
    global _log
    if _log is None:
        from jig.track.metrics import log as _log
    _log(*args, step=step, **values)


def upload(path: str, content: "str | bytes | bytearray | memoryview") -> None:
    """Keep text or bytes as the file `path` of this run's outputs; outside a run it does nothing.

    Raises ValueError for a path that leaves the outputs folder, TypeError for content that is not text or bytes.
    """
    from jig.track.artifacts import upload as keep

    keep(path, content)
