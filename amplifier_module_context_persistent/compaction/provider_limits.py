"""The limits of a request: tokens, bytes, number and size of images; and the images that a view leaves out for them.

The budget of tokens is the largest size of a view, system text and tool definitions included.

If a limit is exceeded, the oldest images are left out first, down to half of the limit, so that it happens rarely. The
newest image and the images of the turn in progress stay if they fit alone. An image that the provider would refuse by
itself is left out at any place.

The table has the published limits of providers; `told` are the limits that a provider reports itself, if it does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from ..config import Config
from ..messages.media_blocks import IMAGE, Medium
from ..view.arrangement import Item, turn_start
from ..view.entry import Entry

MARGIN_BYTES = 20_000
"""The bytes of a request besides messages, system text and definitions of tools."""
_MANY = 1 << 40
_COMMON = frozenset({"image/png", "image/jpeg", "image/jpg", "image/webp"})
_GIF, _HEIF = frozenset({"image/gif"}), frozenset({"image/heic", "image/heif"})


class ShownMedium(NamedTuple):
    """A medium that a view shows."""

    position: int
    """Of its message in the view."""
    entry: Entry
    number: int
    medium: Medium


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of one provider's requests; the size of an image or a document is the size of its base64 text."""

    request_bytes: int = _MANY
    images: int = _MANY
    image_bytes: int = _MANY
    image_edge: int = _MANY
    """The most pixels of an image's longer edge."""
    few_images: int = _MANY
    """In a request with more images than these, the longer edge has at most `edge_of_many` pixels."""
    edge_of_many: int = _MANY
    document_bytes: int = _MANY
    pages: int = _MANY
    """The most pages of all PDFs, each of which is looked at as an image, together with the images."""
    types: frozenset[str] = _COMMON | _GIF | _HEIF
    """The media types of images that are understood."""

    def takes(self, medium: Medium) -> bool:
        """Whether an image or a document can be sent at all."""
        is_image = medium.kind == IMAGE or medium.media_type.startswith("image/")
        if not is_image:
            return medium.chars <= min(self.document_bytes, self.request_bytes) and medium.pages <= self.pages
        is_known = medium.chars == 0 or medium.media_type in self.types
        return is_known and medium.chars <= self.image_bytes and medium.edge <= self.image_edge

    def hold(self, media: Sequence[ShownMedium], rest_bytes: int) -> bool:
        """Whether a request may have all these media, if everything else in it has `rest_bytes`."""
        edges = [one.medium.edge for one in media if one.medium.kind == IMAGE]
        pages = sum([one.medium.pages for one in media])
        if len(edges) > self.images:
            return False
        if pages and len(edges) + pages > self.pages:
            return False
        if len(edges) > self.few_images and max(edges) > self.edge_of_many:
            return False
        return rest_bytes + sum([one.medium.chars for one in media]) <= self.request_bytes

    def halved(self, rest_bytes: int) -> RequestLimits:
        """Half of the limits: media beyond a limit are reduced to half of it, so that it is rarely exceeded again."""
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
"""The limits in the public documentation, by family of providers, each with its page; read in 2026."""

_NUMBERS = tuple(field.name for field in fields(RequestLimits) if field.name != "types")
STRICTEST = RequestLimits(**{name: min(getattr(one, name) for one in PUBLISHED.values()) for name in _NUMBERS})
"""For a provider that is not in the table: of each number the lowest one, and every type that any of them knows."""


def limits_of(family: str, config: Config, told: Mapping[str, Any] | None = None) -> RequestLimits:
    """The limits of a request to a provider of some family, none above what is configured."""
    limits = replace(PUBLISHED.get(family, STRICTEST), **(told or {}))
    most_bytes, most_images = config.max_request_bytes, config.max_images
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
    """Read from what a provider publishes of its model (attributes, keys, or keys of `defaults`) the limits in it."""
    told = dict[str, int]()
    for limit, names in _TOLD.items():
        least = 1 if limit == "request_bytes" else 0
        for name in names:
            value = said_by(published, name)
            if type(value) is int and value >= least:
                told[limit] = value
    return told


def said_by(published: Any, name: str) -> Any:
    """The published limit of this name; None if the provider publishes none."""
    if isinstance(published, Mapping):
        return published.get(name)
    defaults = getattr(published, "defaults", None)
    if isinstance(defaults, Mapping) and name in defaults:
        return defaults[name]
    return getattr(published, name, None)


def view_bytes(items: Iterable[Item]) -> int:
    """About how many bytes the messages of a view have, rather more than fewer."""
    return sum(map(item_bytes, items))


def item_bytes(item: Item) -> int:
    """About how many bytes one message of a view has, rather more than fewer."""
    entry = item.entry
    if entry is None:
        return 200 + sum(4 * len(text) for text in (item.inserted or {}).values() if isinstance(text, str))
    if item.cut is None or not item.cut.shortens or entry.tokens <= 0:
        return entry.form.size_bytes
    # a cut shortens text alone; its share of the tokens tells its share of the bytes
    media = sum(medium.chars for _, medium in entry.shown_media)
    rest = entry.form.size_bytes - media
    return media + min(rest, 400 + 2 * rest * max(0, item.tokens) // entry.tokens)


def media_beyond(items: Sequence[Item], limits: RequestLimits, fixed_bytes: int) -> dict[int, frozenset[int]]:
    """Choose which media of a view are left out: by the ordinal of their message, their numbers in it.

    Args:
        items: the view.
        limits: what the request may have.
        fixed_bytes: system text, definitions of tools, and what is around them.
    """
    shown = _media_in(items)
    if not shown:
        return {}
    refused = [one for one in shown if not limits.takes(one.medium)]
    taken = [one for one in shown if limits.takes(one.medium)]
    rest_bytes = view_bytes(items) + fixed_bytes - sum(one.medium.chars for one in shown)
    rest_bytes = min(rest_bytes, limits.request_bytes // 2)  # more text than that is for a plan
    turn = turn_start(items)
    newer = [one for one in taken[:-1] if one.position >= turn or one.entry.pinned or one.entry.changes.protected]
    older = [one for one in taken[:-1] if one not in newer]
    # Media go in this order. If some of a class stay, all that stays has to fit half of the limits.
    in_order = [*older, *newer, *taken[-1:]]
    ends_of_classes = (0, len(older), len(older) + len(newer), len(in_order))
    halved = limits.halved(rest_bytes)
    gone = 0
    while gone < len(in_order):
        allowed = limits if gone in ends_of_classes else halved
        if allowed.hold(in_order[gone:], rest_bytes):
            break
        gone += 1
    return _by_message([*refused, *in_order[:gone]])


def all_media(items: Sequence[Item], *, spared: int) -> dict[int, frozenset[int]]:
    """All media of a view except the newest: their indexes in the message, by the message's ordinal.

    Media in people's messages and in pins stay: they are never compacted for their tokens.
    """
    shown = list[ShownMedium]()
    for one in _media_in(items):
        entry = one.entry
        if not (entry.human or entry.pinned or entry.changes.protected):
            shown.append(one)
    return _by_message(shown[: len(shown) - spared])


def _by_message(media: Iterable[ShownMedium]) -> dict[int, frozenset[int]]:
    chosen: dict[int, set[int]] = {}
    for one in media:
        chosen.setdefault(one.entry.ordinal, set()).add(one.number)
    return {ordinal: frozenset(numbers) for ordinal, numbers in chosen.items()}


def _media_in(items: Sequence[Item]) -> list[ShownMedium]:
    """The media that a view shows."""
    found = list[ShownMedium]()
    for position, item in enumerate(items):
        entry = item.entry
        if entry is not None and entry.form.media:
            found += [ShownMedium(position, entry, number, medium) for number, medium in entry.shown_media]
    return found


logger = logging.getLogger(__name__)
