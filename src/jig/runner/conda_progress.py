"""How far rattler is: what it reports while it fetches and links, as lines that add up."""

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Set

EVERY_S = 0.1


class Progress:
    """What rattler calls, from several threads at once."""

    def __init__(self, sizes: "Dict[str, int]", to_fetch: "Set[str]", say: "Callable[..., None]") -> None:
        self.waiting: "Set[str]" = set()
        self._sizes = sizes
        self._to_fetch = set(to_fetch)
        self._say = say
        self._names: "List[str]" = []
        self._fetched: "Set[str]" = set()
        self._linked: "Set[str]" = set()
        self._bytes: "Dict[str, int]" = {}
        self._told_s = 0.0
        self._moved_s = 0.0
        self._lock = threading.Lock()

    def stalled_s(self) -> float:
        """For how long nothing has come, while something should."""
        with self._lock:
            return time.monotonic() - self._moved_s if self.waiting else 0.0

    def on_populate_cache_start(self, operation: int, name: str) -> int:
        """A package is looked up in the cache."""
        with self._lock:
            self._names.append(name)
            return len(self._names) - 1

    def on_download_start(self, entry: int) -> int:
        """A request is sent; it may be the second one for this package."""
        with self._lock:
            name = self._names[entry]
            self._to_fetch.add(name)  # it may have been in the cache, and damaged
            self._bytes[name] = 0
            self.waiting.add(name)
            self._moved_s = time.monotonic()
        return entry

    def on_download_progress(self, entry: int, done: int, total: "Optional[int]") -> None:
        """More bytes have come."""
        with self._lock:
            self._bytes[self._names[entry]] = done
            self._moved_s = time.monotonic()
            self._tell("downloading")

    def on_download_completed(self, entry: int) -> None:
        """All bytes have come."""
        with self._lock:
            self.waiting.discard(self._names[entry])
            self._moved_s = time.monotonic()

    def on_populate_cache_complete(self, entry: int) -> None:
        """A package is in the cache, by whatever way."""
        with self._lock:
            name = self._names[entry]
            self._bytes[name] = self._sizes[name]
            self._fetched.add(name)
            self.waiting.discard(name)
            if name in self._to_fetch:
                self._tell("downloading", whole=self._to_fetch <= self._fetched)

    def on_link_start(self, operation: int, name: str) -> int:
        """A package is put into the environment."""
        with self._lock:
            self._names.append(name)
            return len(self._names) - 1

    def on_link_complete(self, entry: int) -> None:
        """A package is in the environment."""
        with self._lock:
            self._linked.add(self._names[entry])
            if self._to_fetch <= self._fetched:
                self._tell("linking", whole=len(self._linked) == len(self._sizes))

    def _tell(self, step: str, whole: bool = False) -> None:
        now_s = time.monotonic()
        if not whole and now_s - self._told_s < EVERY_S:
            return
        self._told_s = now_s
        linking = step == "linking"
        self._say(
            progress={
                "step": step,
                "packages": len(self._linked) if linking else len(self._fetched & self._to_fetch),
                "of": len(self._sizes) if linking else len(self._to_fetch),
                "bytes": sum(min(self._bytes.get(name, 0), self._sizes[name]) for name in self._to_fetch),
                "of_bytes": sum(self._sizes[name] for name in self._to_fetch),
            }
        )
