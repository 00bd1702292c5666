"""Values that become files of the run: images and tables. What goes wrong is told on stderr and never raised."""

import json

from jig.track import images, metrics, tables
from jig.track.place import outputs_dir, say_once, say_outside
from jig.track.values import describe, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def log_image(name: "object", image: "object", step: "object" = None) -> None:
    """Keep an image as a file of the run and as the metric `name`; see `jig.log_image`."""
    _log("image", name, image, step, _image)


def log_table(name: "object", table: "object", columns: "object" = None, step: "object" = None) -> None:
    """Keep a table as the metric `name`; see `jig.log_table`."""
    _log("table", name, table, step, lambda name, table: tables.keep(name, table, columns))


def encode(name: str, value: "object") -> "str | None":
    """The JSON of a figure, a picture or a data frame; None for what is none of these."""
    kind = "image" if images.is_image(value) else "table" if tables.is_table(value) else ""
    if not kind:
        return None
    found = _kept(kind, name, value, _image if kind == "image" else tables.keep)
    return json.dumps(describe(value)) if found is None else found


def _image(name: str, image: "object") -> "str | None":
    path = images.keep(name, image)
    return None if path is None else json.dumps({"image": path})


def _log(kind: str, name: "object", value: "object", step: "object", keep: "Callable[..., str | None]") -> None:
    text = text_of(name)
    found = _kept(kind, text, value, keep)
    if found is not None:
        metrics.write(json.dumps(text) + ": " + found, step)


def _kept(kind: str, name: str, value: "object", keep: "Callable[..., str | None]") -> "str | None":
    """What `keep` makes of the value; None when it could not be kept, and somebody was told."""
    if outputs_dir() is None:
        say_outside()
        return None
    try:
        return keep(name, value)
    except OSError as error:
        reason = error.strerror or str(error)
        say_once(kind + " lost", "{} LOST: {!r}: {}; the script goes on".format(kind.upper(), name, reason))
    except Exception as error:  # values are anyone's code: whatever it raises must not end a training run
        known = isinstance(error, (images.NoImage, tables.NoTable))
        reason = str(error) if known else "{}: {}".format(type(error).__name__, error)
        say_once(
            kind + " " + name,
            "{!r} is not kept as {}: {}".format(name, "an image" if kind == "image" else "a table", reason),
        )
    return None
