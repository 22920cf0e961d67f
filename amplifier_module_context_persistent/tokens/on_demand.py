"""A counter that is loaded when it first counts; for callers that may have nothing to count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .vocabularies import VOCABULARIES, is_at_hand

if TYPE_CHECKING:  # the estimate and its networks are loaded only to count
    from .counter import TokenCounter


class _CounterOnDemand:
    """The estimate, or a counter with a vocabulary on this machine, which is loaded when the first text is counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counter: TokenCounter | None = None

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text.

        Raises:
            ValueError: the vocabulary is not the published one, or cannot be read.
        """
        if self._counter is None:
            from .counter import open_counter

            counter = open_counter(self.name)
            if counter.name != self.name:
                raise ValueError(f"the vocabulary of {self.name} cannot be read; count with --tokenizer estimate")
            self._counter = counter
        return self._counter.count_text(text)


def named_counter(tokenizer: str) -> TokenCounter:
    """Return the named counter. The counter is loaded when it counts the first text.

    Arguments and errors are those of `open_counter`. Nothing is downloaded.
    """
    name = tokenizer
    if tokenizer == "auto":
        name = "o200k_base" if is_at_hand("o200k_base") else "estimate"
    if name == "estimate" or (name in VOCABULARIES and is_at_hand(name)):
        return _CounterOnDemand(name)
    from .counter import open_counter

    return open_counter(tokenizer)
