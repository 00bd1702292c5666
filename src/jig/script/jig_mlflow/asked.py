"""A request's fields, as JSON or a query has them: protobuf's JSON writes large integers as text, and clients vary."""

from jig_mlflow.failure import invalid

MOST_INTEGER = 1 << 63


class Asked(object):
    """The fields of one request, each read as what it must be; Refused when it is something else."""

    def __init__(self, fields):
        self._fields = fields

    def text(self, name, default=""):
        """A text; `default` when it is not there."""
        value = self._fields.get(name)
        if value is None:
            return default
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)  # an id that somebody sent as a number
        if not isinstance(value, str):
            raise wrong(name, value)
        return value

    def need(self, name):
        """A text that must be there."""
        found = self.text(name)
        if not found:
            raise invalid(
                "Missing value for required parameter '%s'. See the API docs for more information about request "
                "parameters." % name
            )
        return found

    def run_id(self):
        """The run that it is about; older clients have another name for it."""
        return self.text("run_id") or self.text("run_uuid") or self.need("run_id")

    def integer(self, name, default=None):
        """A whole number."""
        return integer(name, self._fields.get(name), default)

    def flag(self, name):
        """Yes or no; a query has it as text."""
        return self._fields.get(name) in (True, "true", "True", "1")

    def items(self, name):
        """A list of objects."""
        return [Asked(item) for item in self._list(name, dict)]

    def plain(self):
        """All of them, as they are."""
        return self._fields

    def plain_items(self, name):
        """The same, as they are."""
        return self._list(name, dict)

    def texts(self, name):
        """A list of texts; a query may have it once only."""
        found = self._fields.get(name)
        return [found] if isinstance(found, str) else [str(item) for item in self._list(name, (str, int))]

    def object(self, name):
        """An object, which may be empty."""
        found = self._fields.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise wrong(name, found)
        return found

    def pairs(self, name):
        """A list of keys with values, as a dictionary; the last one of a key counts."""
        return {item.need("key"): item.text("value") for item in self.items(name)}

    def _list(self, name, kind):
        found = self._fields.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
            raise wrong(name, found)
        return found


def integer(name, value, default=None):
    """A whole number, which may be written as text."""
    if value is None:
        return default
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise wrong(name, value)
    if isinstance(value, float) and value * 0.0 == 0.0 and int(value) == value:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -MOST_INTEGER <= value < MOST_INTEGER:
        raise wrong(name, value)
    return value


def wrong(name, value):
    """The error for a field that has something else than it must have."""
    found = repr(value)
    return invalid(
        "Invalid value %s for parameter '%s' supplied." % (found if len(found) < 200 else found[:200] + "…", name)
    )
