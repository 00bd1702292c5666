"""A ticket: what a run that holds devices, or waits for some, tells all others."""

from jig.runner.folder import is_run_id
from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

LAST_S = 4e9  # a time that every system can show


class Ticket:
    """One run that holds devices, or waits for `want` of those in `among`."""

    __slots__ = ("among", "asleep", "number", "pid", "run", "since", "uid", "uuids", "want")

    def __init__(
        self,
        number: int,
        run: str,
        uid: int,
        pid: int,
        want: int,
        among: "List[str]",
        uuids: "List[str]",
        since: float,
        asleep: bool = False,
    ) -> None:
        self.number = number
        self.run = run
        self.uid = uid
        self.pid = pid
        self.want = want
        self.among = among
        self.uuids = uuids
        self.since = since
        self.asleep = asleep  # it waits, and has not asked for a while: its supervisor is stopped, or hangs on a disk

    @property
    def waits(self) -> bool:
        """Whether it has no devices yet."""
        return not self.uuids

    @property
    def user(self) -> str:
        """The name of who owns the run."""
        return user_name(self.uid)


def user_name(uid: int) -> str:
    """The user's name; where there is none, the number."""
    import pwd

    try:
        return str(pwd.getpwuid(uid).pw_name)  # type: ignore[attr-defined,unused-ignore]
    except KeyError:
        return "user %d" % uid


def parse(number: int, uid: int, text: bytes) -> "Optional[Ticket]":
    """What the text of a ticket means; None for one that no run of jig has written."""
    try:
        said = loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    run, pid, want, since = (said.get(name) for name in ("run", "pid", "want", "since"))
    among, uuids = _names(said.get("among")), _names(said.get("uuids"))
    if among is None or uuids is None or not isinstance(run, str) or not is_run_id(run):
        return None
    if type(pid) is not int or type(want) is not int or want < 1:
        return None
    if not isinstance(since, (int, float)) or not 0 <= since < LAST_S:
        return None
    return Ticket(number, run, uid, pid, want, among, uuids, float(since))


def _names(value: "Any") -> "Optional[List[str]]":
    plain = isinstance(value, list) and all(isinstance(name, str) and name.isprintable() for name in value)
    return value if plain else None
