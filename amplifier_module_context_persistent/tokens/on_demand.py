"""A counter whose vocabulary is loaded when it first counts: for what may find everything counted already."""

from __future__ import annotations

from .counter import TokenCounter, open_counter
from .vocabularies import VOCABULARIES, is_at_hand


class _CounterOnDemand:
    """A counter by a vocabulary that is on this machine, loaded when the first text is counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counter: TokenCounter | None = None

    def count_text(self, text: str) -> int:
        """Return how many tokens the text is.

        Raises:
            ValueError: the vocabulary is not the published one, or cannot be read.
        """
        if self._counter is None:
            counter = open_counter(self.name)
            if counter.name != self.name:
                raise ValueError(f"the vocabulary of {self.name} cannot be read; count with --tokenizer estimate")
            self._counter = counter
        return self._counter.count_text(text)


def named_counter(tokenizer: str) -> TokenCounter:
    """Open the counter that is asked for, without loading its vocabulary before it counts.

    For what may have nothing to count. Arguments and errors as `open_counter`; nothing is downloaded.
    """
    name = "o200k_base" if tokenizer == "auto" else tokenizer
    if name in VOCABULARIES and is_at_hand(name):
        return _CounterOnDemand(name)
    return open_counter(tokenizer)
