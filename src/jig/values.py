"""Values: frozen, compared whole, with named fields. To the type checker a Value is a `typing.NamedTuple`.

At run time it is the same thing made without `typing` (3 ms to import) and without compiling code for every class, as
`collections.namedtuple` does: a command would spend 8 of its first 40 milliseconds on that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Value
else:
    from _collections import _tuplegetter

    class _Fields(type):
        """Turns the annotated names of a class into the places of a tuple."""

        def __new__(meta, name, bases, namespace):
            if bases == (tuple,):
                return super().__new__(meta, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            places = {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
            own = {"__slots__": (), "_fields": fields, "_defaults": defaults}
            return super().__new__(meta, name, (Value,), {**namespace, **places, **own})

    class Value(tuple, metaclass=_Fields):
        """The base of every value; see the module's text."""

        __slots__ = ()

        def __new__(cls, *values, **named):
            fields = cls._fields
            if named or len(values) != len(fields):
                values = cls._completed(values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _completed(cls, values, named):
            given = dict(zip(cls._fields, values, strict=False))
            twice = [field for field in named if field in given or field not in cls._fields]
            if len(values) > len(cls._fields) or twice:
                raise TypeError(f"{cls.__name__} got {len(values)} values and {', '.join(named)}: too many or unknown")
            found = {**cls._defaults, **given, **named}
            absent = [field for field in cls._fields if field not in found]
            if absent:
                raise TypeError(f"{cls.__name__} needs {', '.join(absent)}")
            return [found[field] for field in cls._fields]

        def __repr__(self):
            inside = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changed):
            return type(self)(**{**self._asdict(), **changed})


__all__ = ["Value"]
