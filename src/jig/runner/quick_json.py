"""JSON from the C module behind `json`, which itself loads `re` and `enum`: longer to import than all of the runner."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Union

try:
    import _json

    C = _json  # type: Any
except ImportError:  # not CPython: the slow way is right as well
    C = None


class _Rules:
    """How `json` reads by default, in the shape that its scanner asks for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__
    memo = {}  # type: Dict[str, str]


def _refuse(value: "Any") -> "Any":
    raise TypeError("%s is nothing that JSON can hold" % type(value).__name__)


def _encoder(key_end: str, item_end: str) -> "Any":
    if C is None:
        from json import JSONEncoder

        encoder = JSONEncoder(separators=(item_end, key_end))
        return lambda value, _: encoder.encode(value)
    return C.make_encoder(None, _refuse, C.encode_basestring_ascii, None, key_end, item_end, False, False, True)


def _scanner() -> "Any":
    if C is None:
        from json import JSONDecoder

        return JSONDecoder().raw_decode
    return C.make_scanner(_Rules)


_scan, _encode, _encode_short = _scanner(), _encoder(": ", ", "), _encoder(":", ",")


def loads(text: "Union[str, bytes]") -> "Any":
    """The value that the text stands for; ValueError when it stands for none."""
    text = (text.decode() if isinstance(text, bytes) else text).strip(" \t\n\r")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("a value was expected: %r" % text[:80]) from None
    if end != len(text):
        raise ValueError("something stands behind the value: %r" % text[end : end + 80])
    return value


def dumps(value: "Any") -> str:
    """The value as text, as `json.dumps` writes it."""
    return "".join(_encode(value, 0))


def dumps_short(value: "Any") -> str:
    """The value as text without spaces."""
    return "".join(_encode_short(value, 0))


def dumps_lines(value: "Dict[str, Any]") -> str:
    """A map with each of its keys on a line of its own, for a person to read."""
    return "{\n%s\n}\n" % ",\n".join(" %s: %s" % (dumps(name), dumps(part)) for name, part in value.items())


def dumps_indented(value: "Any", ascii_only: bool, indent: str = "") -> str:
    """The value over several lines, as `json.dumps` writes it with an indent of two."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = ["%s: %s" % (_quote(str(key), ascii_only), _row(value[key], ascii_only, deeper)) for key in value]
        return "{\n" + deeper + (",\n" + deeper).join(rows) + "\n" + indent + "}"
    if isinstance(value, (list, tuple)) and value:
        rows = [_row(item, ascii_only, deeper) for item in value]
        return "[\n" + deeper + (",\n" + deeper).join(rows) + "\n" + indent + "]"
    return _quote(value, ascii_only) if isinstance(value, str) else dumps(value)


def _row(value: "Any", ascii_only: bool, indent: str) -> str:
    """A part of a value: most are plain, and there are many of them."""
    kind = type(value)
    if kind is str:
        return _quote(value, ascii_only)
    if value is None:
        return "null"
    return repr(value) if kind is int else dumps_indented(value, ascii_only, indent)


def _quote(text: str, ascii_only: bool) -> str:
    if ascii_only:
        return dumps(text)
    if C is None:
        from json.encoder import encode_basestring

        return encode_basestring(text)
    return str(C.encode_basestring(text))
