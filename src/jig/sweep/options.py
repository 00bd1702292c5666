"""What a sweep's own program is told on its command line."""

from __future__ import annotations

from jig.sweep.children import CONTINUES
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = {"config": "-c", "target": "-t", "conda": "-d", "at_once": "-n", "sweep": CONTINUES}


class Options(Value):
    """The options of `jig sweep` that its runs are submitted with; empty: not given."""

    config: str
    target: str = ""
    conda: str = ""
    at_once: str = ""
    sweep: str = ""  # the sweep to go on with

    def words(self) -> tuple[str, ...]:
        """As they stand on the command line."""
        return tuple(word for name, text in self._asdict().items() if text for word in (WORDS[name], text))

    @classmethod
    def read(cls, words: Sequence[str]) -> Options:
        """What `words` gave."""
        names = {word: name for name, word in WORDS.items()}
        return cls(**{names[word]: text for word, text in zip(words[::2], words[1::2], strict=True)})
