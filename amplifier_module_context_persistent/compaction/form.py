"""A form: one way to show less of a tool group (a message with the results of its calls), and what that saves."""

from __future__ import annotations

from typing import NamedTuple

from ..messages.elide import Cut
from ..view.entry import Entry


class Form(NamedTuple):
    """One way to show less of a group: to leave it out, or to cut one of its messages."""

    entry: Entry | None
    """The message that is cut; None if the form leaves the whole group out."""
    cut: Cut
    saved: int
    """The estimated number of tokens that the form frees."""
    word_loss: float
    """The loss of ordinary words (words that are not terms). The loss is larger if fewer ordinary words stay."""
