"""Images as people have them: figures, pictures, arrays of pixels, files. Nothing is imported that is not there."""

import os

from jig.track import png
from jig.track.artifacts import keep_new
from jig.track.place import outputs_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = "images"
_KNOWN_FILES = ((png.SIGNATURE, "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"), (b"<svg", "svg"))
_CHANNELS = (1, 3, 4)


class NoImage(Exception):
    """What was handed over is no image, and why."""


def is_image(value: "object") -> bool:
    """Whether `log` keeps it as an image: a figure of matplotlib or of its kind, or a picture of PIL."""
    return _figure(value) is not None or _is_picture(value)


def keep(name: str, value: "Any") -> "str | None":
    """Keep the image as a new file of the outputs; its path from the working folder, or None outside a run.

    Raises NoImage, OSError, and whatever the value's own code raises.
    """
    data, ending = _as_file(value)
    if data is None:
        return ending
    return keep_new(_FOLDER, name, ending, data)


def _as_file(value: "Any") -> "tuple[bytes | None, str]":
    """The bytes of a file and how its name ends; a file that is in outputs/ already is its path and no bytes."""
    figure = _figure(value)
    if figure is not None:
        return _saved(figure.savefig), "png"
    if _is_picture(value):
        return _saved(value.save), "png"
    if hasattr(value, "__fspath__"):
        value = value.__fspath__()
    if isinstance(value, str):
        inside = _inside_outputs(value)
        if inside:
            return None, inside
        with open(value, "rb") as file:
            value = file.read()
    if isinstance(value, (bytes, bytearray)):
        for start, ending in _KNOWN_FILES:
            if bytes(value[:8]).startswith(start):
                return bytes(value), ending
        raise NoImage("these bytes are no PNG, JPEG, GIF or SVG file")
    return _from_pixels(value), "png"


def _figure(value: "Any") -> "Any":
    """The figure that a value is, or that it belongs to: of pyplot the current one, of axes theirs."""
    if type(value).__name__ == "module" and value.__name__ == "matplotlib.pyplot":
        return value.gcf()
    # Asked of the type: objects that answer to every name are not figures.
    if callable(getattr(type(value), "savefig", None)):
        return value
    if hasattr(type(value), "get_figure"):
        return value.get_figure()
    return None


def _is_picture(value: "object") -> bool:
    return any(kind.__name__ == "Image" and kind.__module__.startswith("PIL.") for kind in type(value).__mro__)


def _saved(save: "Any") -> bytes:
    from io import BytesIO

    file = BytesIO()
    save(file, format="png")
    return file.getvalue()


def _inside_outputs(path: str) -> str:
    """The path from the working folder for a file that is among the outputs, else empty."""
    folder = outputs_dir()
    if folder is None:
        return ""
    root, place = os.path.realpath(folder), os.path.realpath(path)
    return "outputs/" + place[len(root) + 1 :].replace(os.sep, "/") if place.startswith(root + os.sep) else ""


def _from_pixels(value: "Any") -> bytes:
    """An array of pixels: height x width, with 1, 3 or 4 channels last, or first as PyTorch has them."""
    for method in ("detach", "cpu", "numpy"):
        if callable(getattr(type(value), method, None)):
            value = getattr(value, method)()
    if isinstance(value, (list, tuple)):
        return _from_lists(value)
    if not hasattr(type(value), "shape") or not hasattr(type(value), "tobytes"):
        raise NoImage("{} is no figure, picture, array of pixels or file".format(type(value).__name__))
    shape = tuple(value.shape)
    if len(shape) == 3 and shape[2] not in _CHANNELS and shape[0] in _CHANNELS:
        value = value.transpose(1, 2, 0)
        shape = tuple(value.shape)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in _CHANNELS) or 0 in shape:
        raise NoImage("pixels are height x width, or height x width x 1, 3 or 4; found {}".format(shape))
    kind = str(value.dtype)
    if kind == "bool":
        value = value.astype("uint8") * 255
    elif kind.startswith("float"):  # from 0 to 1; NaN is black
        value = (value.clip(0, 1) * 255).round()
        value[value != value] = 0
        value = value.astype("uint8")
    elif kind != "uint8":
        value = value.clip(0, 255).astype("uint8")
    return png.encode(shape[1], shape[0], shape[2] if len(shape) == 3 else 1, value.tobytes())


def _from_lists(rows: "Any") -> bytes:
    """The same from lists of numbers from 0 to 255."""
    pixels = [pixel for row in rows for pixel in row]
    channels = 1
    if pixels and isinstance(pixels[0], (list, tuple)):
        channels = len(pixels[0])
        pixels = [channel for pixel in pixels for channel in pixel]
    if not rows or channels not in _CHANNELS or len(pixels) % (len(rows) * channels):
        raise NoImage("pixels are rows of equal length, of numbers or of 1, 3 or 4 numbers each")
    return png.encode(len(pixels) // len(rows) // channels, len(rows), channels, bytes(pixels))
