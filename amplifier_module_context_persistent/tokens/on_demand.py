"""A counter that loads its vocabulary when it first counts; for callers that may have nothing to count."""

from __future__ import annotations

from .counter import TokenCounter, open_counter
from .vocabularies import VOCABULARIES, is_at_hand


class _CounterOnDemand:
    """A counter with a vocabulary on this machine, which is loaded when the first text is counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counter: TokenCounter | None = None

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text.

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
    """Return the named counter; its vocabulary is loaded only when it counts.

    Arguments and errors are those of `open_counter`. Nothing is downloaded.
    """
    name = "o200k_base" if tokenizer == "auto" else tokenizer
    if name in VOCABULARIES and is_at_hand(name):
        return _CounterOnDemand(name)
    return open_counter(tokenizer)
