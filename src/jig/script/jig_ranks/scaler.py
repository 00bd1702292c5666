"""The loss scaling of a script that is not to be changed: that of the scaler which it has made last."""

import functools
import weakref

_newest = []


def remember(kind):
    """Take note of each scaler of this class that is made from now on."""
    make = kind.__init__

    @functools.wraps(make)
    def __init__(self, *given, **named):
        make(self, *given, **named)
        _newest[:] = [weakref.ref(self)]

    kind.__init__ = __init__


class Newest(object):
    """As much of a scaler as an exchange asks for; without one, a scaler that is off."""

    def is_enabled(self):
        """Whether gradients are scaled."""
        found = self._found()
        return found is not None and found.is_enabled()

    def get_scale(self):
        """By what."""
        return self._found().get_scale()

    @property
    def _scale(self):
        return self._found()._scale

    def _found(self):
        return _newest[0]() if _newest else None
