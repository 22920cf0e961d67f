"""What a request may have besides tokens, and which images a view leaves out for it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.provider_limits import (
    PUBLISHED,
    STRICTEST,
    RequestLimits,
    item_bytes,
    limits_of,
    media_beyond,
    read_told,
)
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.messages.media_blocks import Medium
from amplifier_module_context_persistent.view.arrangement import Item
from amplifier_module_context_persistent.view.entry import Entry, RequestForm


def image(chars: int = 100, edge: int = 500, media_type: str = "image/png") -> Medium:
    return Medium("image", media_type, chars, edge, edge // 2, chars * 3 // 4)


def items(*media: Medium, turn: int = 0, pinned: frozenset[int] = frozenset(), text_bytes: int = 10) -> list[Item]:
    """A view in which each message has one medium; a human's message comes before the one at `turn`."""
    found = []
    for number, medium in enumerate(media):
        if number == turn:
            found.append(Item(entry=Entry(900, "human", "user", 5, human=True, form=RequestForm(size_bytes=10))))
        size = medium.chars + text_bytes
        entry = Entry(
            number, f"m{number}", "tool", 5, pinned=number in pinned, form=RequestForm(media=(medium,), size_bytes=size)
        )
        found.append(Item(entry=entry))
    return found


def gone(view: list[Item], limits: RequestLimits, fixed_bytes: int = 0) -> list[int]:
    return sorted(media_beyond(view, limits, fixed_bytes))


def test_a_view_within_the_limits_keeps_all() -> None:
    """Up to the limit itself."""
    view = items(*[image(100)] * 9)
    assert gone(view, RequestLimits(request_bytes=9 * 110 + 10, images=9)) == []


def test_the_oldest_go_down_to_half() -> None:
    """Of the number, and of the bytes."""
    assert gone(items(*[image()] * 11, turn=10), RequestLimits(images=10)) == list(range(6))
    view = items(*[image(1_000)] * 10, turn=9, text_bytes=0)
    assert gone(view, RequestLimits(request_bytes=9_000)) == list(range(6))


def test_the_turn_in_progress_stays_if_it_fits_alone() -> None:
    """Then all before it goes, and no more; else its oldest go too, down to half."""
    assert gone(items(*[image()] * 12, turn=4), RequestLimits(images=10)) == [0, 1, 2, 3]
    assert gone(items(*[image()] * 12, turn=1), RequestLimits(images=10)) == list(range(7))


def test_pins_stay_if_they_fit() -> None:
    """As those of the turn do."""
    view = items(*[image()] * 11, turn=10, pinned=frozenset({0, 1}))
    assert gone(view, RequestLimits(images=10)) == [2, 3, 4, 5, 6, 7]


def test_the_newest_image_stays_unless_it_does_not_fit_alone() -> None:
    """Even if a limit of one image is halved."""
    assert gone(items(*[image()] * 3, turn=2), RequestLimits(images=1)) == [0, 1]
    assert gone(items(image(600), turn=0), RequestLimits(request_bytes=500)) == [0]


@pytest.mark.parametrize(
    "medium",
    [
        image(5_000_001),
        image(edge=8_001),
        image(media_type="image/tiff"),
        image(media_type=""),
        image(media_type="application/pdf"),
        Medium("document", "application/pdf", 33_000_000),
    ],
)
def test_what_would_be_refused_by_itself_never_goes(medium: Medium) -> None:
    """Wherever it is, and though everything else fits."""
    view = items(image(), medium, image(), turn=0)
    assert gone(view, PUBLISHED["anthropic"]) == [1]


@pytest.mark.parametrize("medium", [image(5_000_000), image(edge=8_000)])
def test_what_is_as_large_as_allowed_is_sent(medium: Medium) -> None:
    assert gone(items(medium, turn=0), PUBLISHED["anthropic"]) == []


def test_what_lies_elsewhere_has_no_size() -> None:
    """An address is sent as it is."""
    assert gone(items(Medium("image", "", 0)), PUBLISHED["anthropic"]) == []


def test_large_images_are_for_requests_with_few() -> None:
    """More than twenty, one of them larger than 2,000 pixels: the oldest go, down to ten."""
    view = items(*[image()] * 20, image(edge=2_001), turn=20)
    assert gone(view, PUBLISHED["anthropic"]) == list(range(11))
    assert gone(items(*[image(edge=2_000)] * 21, turn=20), PUBLISHED["anthropic"]) == []
    assert gone(items(*[image(edge=4_000)] * 20, turn=19), PUBLISHED["anthropic"]) == []


def test_text_takes_its_share() -> None:
    """The bytes of everything else count too."""
    view = items(*[image(1_000)] * 8, turn=7, text_bytes=0)
    assert gone(view, RequestLimits(request_bytes=8_100)) == []
    assert len(gone(view, RequestLimits(request_bytes=8_100), fixed_bytes=500)) >= 4


@pytest.mark.parametrize("text", ["[left out]", "é" * 500, "\U0001f41b" * 500])
def test_what_is_inserted_is_counted_as_no_smaller_than_it_is(text: str) -> None:
    """In any script."""
    inserted = {"role": "user", "content": text}
    assert item_bytes(Item(inserted=inserted)) >= len(json.dumps(inserted, ensure_ascii=False).encode())


def test_a_configuration_lowers_limits_and_a_provider_replaces_the_table() -> None:
    """The lower one holds; of an unknown provider the lowest of all."""
    config = Config.load({"max_images": 30, "max_request_bytes": 1_000_000})
    assert limits_of("openai", config).images == 30
    assert limits_of("gemini", config).request_bytes == 1_000_000
    default = Config.load()
    assert (limits_of("anthropic", default).images, limits_of("anthropic", default).request_bytes) == (90, 20_000_000)
    assert limits_of("anthropic", default, {"images": 20}).images == 20
    assert limits_of("somebody", default).image_edge == STRICTEST.image_edge == 8_000
    assert STRICTEST.types >= {"image/gif", "image/heic", "image/png"}


@pytest.mark.parametrize(
    ("published", "told"),
    [
        ({"max_request_bytes": 5_000_000, "max_images": 8}, {"request_bytes": 5_000_000, "images": 8}),
        (SimpleNamespace(defaults={"max_image_bytes": 9}, max_images=3), {"image_bytes": 9, "images": 3}),
        (SimpleNamespace(max_images=True, max_image_edge="8000", max_request_bytes=0), {}),
        ({"max_images_per_request": 0}, {"images": 0}),
        (None, {}),
    ],
)
def test_limits_that_a_provider_tells_are_read(published: Any, told: dict[str, int]) -> None:
    """From attributes, keys, or defaults; nonsense is ignored."""
    assert read_told(published) == told
