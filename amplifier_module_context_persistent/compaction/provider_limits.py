"""The limits of a request in bytes, images and documents, and the media that a view leaves out to meet them.

A medium is an image or a document in a message. If a limit is exceeded, the oldest media are left out first, down to
half of the limit, so that it happens rarely. The newest medium and the media of the turn in progress stay if they fit
alone. A medium that the provider would refuse in any request is always left out.

`PUBLISHED` has the limits in the documentation of providers. Limits that a provider reports itself (`told`) replace
these.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, NamedTuple

from ..config import Config
from ..messages.media_blocks import IMAGE, Medium
from ..view.arrangement import Item, turn_start
from ..view.entry import Entry

MARGIN_BYTES = 20_000
"""The bytes of a request that are not messages, system text or definitions of tools."""
_MANY = 1 << 40
_COMMON = frozenset({"image/png", "image/jpeg", "image/jpg", "image/webp"})
_GIF = frozenset({"image/gif"})
_HEIF = frozenset({"image/heic", "image/heif"})


class ShownMedium(NamedTuple):
    """A medium that a view shows, with its place."""

    position: int
    """The position of its message in the view."""
    entry: Entry
    number: int
    """The index of the medium among the media of its message."""
    medium: Medium


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of one provider's requests. The size of an image or a document is the size of its base64 text."""

    request_bytes: int = _MANY
    images: int = _MANY
    image_bytes: int = _MANY
    image_edge: int = _MANY
    """The most pixels of an image's longer edge."""
    few_images: int = _MANY
    """In a request with more images than this number, the longer edge has at most `edge_of_many` pixels."""
    edge_of_many: int = _MANY
    document_bytes: int = _MANY
    pages: int = _MANY
    """The most pages of PDFs and images together in a request with a PDF: each page is read as an image."""
    types: frozenset[str] = _COMMON | _GIF | _HEIF
    """The media types of images that the provider accepts."""

    def accepts(self, medium: Medium) -> bool:
        """Return whether the provider accepts an image or a document in any request.

        The type of an image that is stored elsewhere (`chars` is 0) is not checked.
        """
        is_image = medium.kind == IMAGE or medium.media_type.startswith("image/")
        if not is_image:
            return medium.chars <= min(self.document_bytes, self.request_bytes) and medium.pages <= self.pages
        is_known = medium.chars == 0 or medium.media_type in self.types
        return is_known and medium.chars <= self.image_bytes and medium.edge <= self.image_edge

    def allow(self, media: Sequence[ShownMedium], rest_bytes: int) -> bool:
        """Return whether a request may contain all these media, if the rest of the request has `rest_bytes` bytes."""
        edges = [medium.medium.edge for medium in media if medium.medium.kind == IMAGE]
        pages = sum([medium.medium.pages for medium in media])
        if len(edges) > self.images:
            return False
        if pages and len(edges) + pages > self.pages:
            return False
        if len(edges) > self.few_images and max(edges) > self.edge_of_many:
            return False
        return rest_bytes + sum([medium.medium.chars for medium in media]) <= self.request_bytes

    def halved(self, rest_bytes: int) -> RequestLimits:
        """Return half of the limits on bytes, images and pages.

        If a view exceeds a limit, media are left out down to half of the limit, so that views rarely exceed it again.

        Args:
            rest_bytes: the bytes of the request without its media. The limit on bytes is lowered so that the media may
                have half of the bytes that are left beside `rest_bytes`.
        """
        halves = {name: getattr(self, name) // 2 for name in ("images", "few_images", "pages")}
        return replace(self, **halves, request_bytes=(self.request_bytes + rest_bytes) // 2)


PUBLISHED: Mapping[str, RequestLimits] = {
    # platform.claude.com/docs/en/build-with-claude/vision, .../pdf-support, .../docs/en/api/overview (request size
    # limits); a window of more than 200,000 tokens takes 600 images or pages, which a provider may tell
    "anthropic": RequestLimits(32_000_000, 100, 5_000_000, 8_000, 20, 2_000, 32_000_000, 100, _COMMON | _GIF),
    # platform.openai.com/docs/guides/images-vision, .../docs/guides/pdf-files
    "openai": RequestLimits(50_000_000, 500, 20_000_000, document_bytes=50_000_000, types=_COMMON | _GIF),
    # ai.google.dev/gemini-api/docs/image-understanding (inline data)
    "gemini": RequestLimits(20_000_000, 3_600, 20_000_000, document_bytes=20_000_000, types=_COMMON | _HEIF),
}
"""The limits in the public documentation, by family of providers; the comments name the pages, read in 2026."""

_NUMBERS = tuple(field.name for field in fields(RequestLimits) if field.name != "types")
STRICTEST = RequestLimits(**{name: min(getattr(one, name) for one in PUBLISHED.values()) for name in _NUMBERS})
"""The limits for a provider that is not in the table: the lowest of each number in the table, and all types."""


def limits_of(family: str, config: Config, told_limits: Mapping[str, Any] | None = None) -> RequestLimits:
    """Return the limits of a request to a provider of this family, lowered to the configured limits.

    Args:
        family: the family of the provider.
        config: the configured limits on bytes and images.
        told_limits: limits that the provider reports itself, by the field of `RequestLimits`; they replace published
            ones.
    """
    limits = replace(PUBLISHED.get(family, STRICTEST), **(told_limits or {}))
    most_bytes = config.max_request_bytes
    most_images = config.max_images
    return replace(limits, request_bytes=min(limits.request_bytes, most_bytes), images=min(limits.images, most_images))


_TOLD = {
    "request_bytes": ("max_request_bytes",),
    "images": ("max_images", "max_images_per_request"),
    "image_bytes": ("max_image_bytes",),
    "image_edge": ("max_image_edge", "max_image_dimension"),
    "document_bytes": ("max_document_bytes",),
    "pages": ("max_pdf_pages", "max_document_pages"),
}


def read_told(published: Any) -> dict[str, int]:
    """Return the limits that a provider publishes of its model, by the field of `RequestLimits`.

    The limits are attributes, keys, or keys of `defaults`. Values that are not whole numbers are ignored.
    """
    limits = dict[str, int]()
    for limit, names in _TOLD.items():
        least = 1 if limit == "request_bytes" else 0
        for name in names:
            value = said_by(published, name)
            if type(value) is int and value >= least:
                limits[limit] = value
    return limits


def said_by(published: Any, name: str) -> Any:
    """Return the value that a provider publishes under this name; None if there is no such value."""
    if isinstance(published, Mapping):
        return published.get(name)
    defaults = getattr(published, "defaults", None)
    if isinstance(defaults, Mapping) and name in defaults:
        return defaults[name]
    return getattr(published, name, None)


def view_bytes(items: Iterable[Item]) -> int:
    """Estimate the number of bytes in the messages of a view, rather too high than too low."""
    return sum(map(item_bytes, items))


def item_bytes(item: Item) -> int:
    """Estimate the number of bytes in one message of a view, rather too high than too low."""
    entry = item.entry
    if entry is None:
        return 200 + sum(4 * len(text) for text in (item.inserted or {}).values() if isinstance(text, str))
    if item.cut is None or not item.cut.shortens or entry.tokens <= 0:
        return entry.form.size_bytes
    # A cut shortens only text. The text's share of bytes is estimated from the message's share of tokens.
    media = sum(medium.chars for _, medium in entry.shown_media)
    rest = entry.form.size_bytes - media
    return media + min(rest, 400 + 2 * rest * max(0, item.tokens) // entry.tokens)


def media_beyond(items: Sequence[Item], limits: RequestLimits, fixed_bytes: int) -> dict[int, frozenset[int]]:
    """Choose the media that a view leaves out so that the request meets the limits.

    Args:
        items: the messages of the view.
        limits: the limits of the request.
        fixed_bytes: the bytes of system text, definitions of tools, and the request around them.

    Returns:
        The indexes of the media in their message, by the message's ordinal.
    """
    media = _media_in(items)
    if not media:
        return {}
    refused = [shown_medium for shown_medium in media if not limits.accepts(shown_medium.medium)]
    accepted = [shown_medium for shown_medium in media if limits.accepts(shown_medium.medium)]
    rest_bytes = view_bytes(items) + fixed_bytes - sum(shown_medium.medium.chars for shown_medium in media)
    rest_bytes = min(rest_bytes, limits.request_bytes // 2)  # a plan has to shorten more text than that
    turn = turn_start(items)
    newer = [
        shown_medium
        for shown_medium in accepted[:-1]
        if shown_medium.position >= turn or shown_medium.entry.pinned or shown_medium.entry.changes.protected
    ]
    older = [shown_medium for shown_medium in accepted[:-1] if shown_medium not in newer]
    left_out = _left_out([older, newer, accepted[-1:]], limits, rest_bytes)
    return _by_message([*refused, *left_out])


def _left_out(
    classes: Sequence[Sequence[ShownMedium]], limits: RequestLimits, rest_bytes: int
) -> Sequence[ShownMedium]:
    """Return the first media of some classes, as many as must be left out so that the others meet the limits.

    If a class is left out only in part, the remaining media have to meet half of the limits.
    """
    halved = limits.halved(rest_bytes)
    in_order = [medium for media in classes for medium in media]
    # The numbers of left-out media with which no class is left out in part.
    whole_classes = {0, *accumulate(len(media) for media in classes)}
    for count in range(len(in_order)):
        applied_limits = halved
        if count in whole_classes:
            applied_limits = limits
        if applied_limits.allow(in_order[count:], rest_bytes):
            return in_order[:count]
    return in_order


def all_media(items: Sequence[Item], *, spared: int) -> dict[int, frozenset[int]]:
    """Return all media of a view that may be left out to save tokens, except the `spared` newest ones.

    Media in people's messages and in pinned or protected messages are not left out for their tokens.

    Returns:
        The indexes of the media in their message, by the message's ordinal.
    """
    media = list[ShownMedium]()
    for medium in _media_in(items):
        entry = medium.entry
        if not (entry.human or entry.pinned or entry.changes.protected):
            media.append(medium)
    return _by_message(media[: len(media) - spared])


def _by_message(media: Iterable[ShownMedium]) -> dict[int, frozenset[int]]:
    chosen: dict[int, set[int]] = {}
    for medium in media:
        chosen.setdefault(medium.entry.ordinal, set()).add(medium.number)
    return {ordinal: frozenset(numbers) for ordinal, numbers in chosen.items()}


def _media_in(items: Sequence[Item]) -> list[ShownMedium]:
    """Return the media that a view shows, in order."""
    found = list[ShownMedium]()
    for position, item in enumerate(items):
        entry = item.entry
        if entry is not None and entry.form.media:
            found += [ShownMedium(position, entry, number, medium) for number, medium in entry.shown_media]
    return found


logger = logging.getLogger(__name__)
