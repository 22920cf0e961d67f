"""What views give their reader, one by one and summed over a session; `reader_measures` says what is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Looked:
    """What one view gives its reader."""

    stale: bool = False
    turns: int = 0
    """Finished turns with last words, before the request."""
    answered: int = 0
    """Those of them whose last words are in the view."""
    alone: int = 1
    gaps: int = 0
    unmarked: int = 0


@dataclass(slots=True)
class Owed:
    """What the views of a session came to, summed over them."""

    views: int = 0
    stale_views: int = 0
    last_words: int = 0
    last_words_shown: int = 0
    alone_sum: int = 0
    gaps: int = 0
    gaps_unmarked: int = 0

    def take(self, looked: Looked) -> None:
        """Add a view."""
        self.views += 1
        self.stale_views += looked.stale
        self.last_words += looked.turns
        self.last_words_shown += looked.answered
        self.alone_sum += looked.alone
        self.gaps += looked.gaps
        self.gaps_unmarked += looked.unmarked

    @property
    def stale(self) -> float:
        """The share of stale views."""
        return self.stale_views / max(1, self.views)

    @property
    def answered(self) -> float:
        """The share of last words of finished turns that views show; 1 where there are none."""
        return self.last_words_shown / self.last_words if self.last_words else 1.0

    @property
    def alone(self) -> float:
        """The longest run of people's messages that stand alone, the mean over views."""
        return self.alone_sum / max(1, self.views)

    @property
    def unmarked(self) -> float:
        """The share of gaps that nothing inserted marks."""
        return self.gaps_unmarked / max(1, self.gaps)
