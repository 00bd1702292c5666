"""The C module behind `signal`, which wraps it in enumerations: loading `enum` for that takes 3 ms of every run."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import *  # noqa: F403
else:
    from _signal import *  # noqa: F403
