"""Ctrl-C, SIGTERM and a closed terminal, all as exceptions, so that what was begun can be undone."""

from __future__ import annotations

from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Interrupts:
    """While it lasts each of these signals raises, as Ctrl-C does anyway, until `hold`."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._held = False

    def __enter__(self) -> Interrupts:
        for number in [getattr(signal, name) for name in NAMES if hasattr(signal, name)]:
            if signal.getsignal(number) in (
                signal.SIG_IGN,
                None,
            ):  # nohup, a shell's background; a handler not of Python
                continue
            try:
                self._before[number] = signal.signal(number, self._arrive)
            except ValueError:  # not the main thread, where alone signals arrive
                break
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def hold(self) -> None:
        """From here on nothing interrupts: what is left to do is short, and better done than not."""
        self._held = True

    def _arrive(self, number: int, frame: object) -> None:
        if not self._held:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
