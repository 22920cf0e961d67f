"""How `view` prints a view: messages as `show` prints them, with what was shortened or left out, or a difference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from ..messages.message import Message
from ..replay.annotated_view import Gap, ShownMessage, annotate, shortening
from ..replay.visibility import KEPT
from ..transcript.transcript import Transcript
from .message_printer import MessagePrinter
from .terminal import counted

Piece = ShownMessage | Gap


def show_view(transcript: Transcript, number: int, view: Sequence[Message], printer: MessagePrinter) -> None:
    """Print the view of a request."""
    for piece in annotate(transcript, number, view):
        _show(printer, piece)


def show_difference(transcript: Transcript, number: int, view: Sequence[Message], printer: MessagePrinter) -> None:
    """Print what differs from the request before: messages that are new or shortened, and what is newly left out."""
    earlier = transcript.view(number - 1).messages or () if number > 1 else ()
    before = annotate(transcript, number - 1, earlier) if number > 1 else []
    if number == 1:
        printer.note("there is no request before this one")
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, view, strict=False)))
    printer.note(f"{counted(same, 'message')} at the beginning of the view {'is' if same == 1 else 'are'} the same")
    shown = [(piece.placed.number, piece.placed.message) for piece in before if isinstance(piece, ShownMessage)]
    numbers = {number for number, _ in shown}
    for piece in annotate(transcript, number, view):
        if isinstance(piece, ShownMessage):
            if (piece.placed.number, piece.placed.message) not in shown:
                _show(printer, piece)
        elif newly := [position for position in range(piece.first, piece.last + 1) if position in numbers]:
            printer.note(f"newly {piece.mark}: {counted(len(newly), 'message')}, {_range(newly[0], newly[-1])}")
    for piece in before:
        if isinstance(piece, ShownMessage) and not piece.placed.number and piece.placed.message not in view:
            printer.note("no longer inserted:")
            _show(printer, piece)


def _show(printer: MessagePrinter, piece: Piece) -> None:
    if isinstance(piece, Gap):
        printer.note(f"{counted(len(piece), 'message')} {piece.mark}: {_range(piece.first, piece.last)}")
    else:
        printer.show(piece.placed, note=shortening(piece) if piece.mark != KEPT else "")


def _range(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}] to [{last}]"
