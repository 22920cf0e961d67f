"""Images and documents of a recalled message: which of them a page returns, in their stored form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import RecallError
from ..messages.media_blocks import Medium, media_of, medium_blocks
from ..messages.message import Message
from ..messages.normalize import normalise
from .recall_page import RecallPage, RecallQuery

MOST_CHARS = 4_000_000
"""The most characters of base64 in one page. The first image of a page is returned whatever its size."""


def with_media(page: RecallPage, message: Message, wanted: RecallQuery) -> RecallPage:
    """Return a page with images and documents: with the wanted one, or on a message's first page with all that fit.

    Raises:
        RecallError: the message has no image of that number.
    """
    accepted = normalise(message) or message
    media, blocks = media_of(accepted), medium_blocks(accepted)
    if wanted.image > len(media):
        has = f"it has {len(media)}" if media else "it has none"
        raise RecallError(f"image: {wanted.reference} has no image {wanted.image}; {has}")
    if wanted.image:
        number = wanted.image - 1
        line = _told(page, media, [number])
        return replace(page, media=(blocks[number],), output=f"{page.output}\n{line}")
    if not media or wanted.offset:
        return page
    image_count = _first(media)
    lines = [_told(page, media, range(image_count))]
    if image_count < len(media):
        lines.append(f"[for the others: recall reference={page.reference} image={image_count + 1}, up to {len(media)}]")
    return replace(page, media=tuple(blocks[:image_count]), output="\n".join([page.output, *lines]))


def _first(media: Sequence[Medium]) -> int:
    """Return the number of media, counted from the first, that fit on a page."""
    chars = 0
    for number, medium in enumerate(media):
        chars += medium.chars
        if chars > MOST_CHARS and number:
            return number
    return len(media)


def _told(page: RecallPage, media: Sequence[Medium], numbers: Sequence[int]) -> str:
    """Return a line that names the media that come with a page.

    Args:
        page: the page of a recall that is returned.
        media: all media of the message.
        numbers: the positions of the media that come with the page.
    """

    def name(number: int) -> str:
        return f"{media[number].kind} {number + 1} of {len(media)}"

    names = name(numbers[0])
    if len(numbers) > 1:
        names = f"{names} to {name(numbers[-1])}"
    return f"[with this page: {names} of {page.reference}]"
