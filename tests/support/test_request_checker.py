"""The independent checker of bytes, images, bonds and chains: it finds each violation, and nothing in what is fine."""

import copy
import sys
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction import provider_limits
from fixtures.providers import FAMILIES, answer, image_block, jpeg, png
from tests.support.messages import Message, user
from tests.support.request_checker import (
    anybody,
    bond_violations,
    chain_violations,
    limit_violations,
    published,
)
from tests.support.sweeps import proof

SMALL = image_block(png(640, 480, 300))


def shows(*blocks: Message) -> list[Message]:
    return [{"role": "user", "content": list(blocks)}]


def within(*blocks: Message) -> list[Message]:
    result = {"type": "tool_result", "tool_call_id": "c", "output": list(blocks)}
    return [{"role": "tool", "tool_call_id": "c", "name": "t", "content": [result]}]


@proof(quick=1)
@pytest.mark.parametrize(
    ("view", "provider", "rule"),
    [
        (shows(*[SMALL] * 90), "anthropic", ""),
        (shows(*[SMALL] * 91), "openai", "images"),
        (shows(*[SMALL] * 21), "anthropic", ""),
        (shows(*[SMALL] * 20, image_block(png(2_001, 9, 99))), "anthropic", "image edge"),
        (shows(*[SMALL] * 20, image_block(png(2_001, 9, 99))), "openai", ""),
        (shows(image_block(jpeg(9, 8_001, 300), "image/jpeg")), "anthropic", "image edge"),
        (shows(image_block(jpeg(9, 8_001, 300), "image/jpeg")), "", "image edge"),
        (shows(image_block(png(9, 9, 3_750_010))), "anthropic", "image size"),
        (shows(image_block(png(9, 9, 3_750_010))), "gemini", ""),
        (shows(image_block(b"II*", "image/tiff")), "openai", "image type"),
        (shows(image_block(b"GIF89a", "image/gif")), "gemini", "image type"),
        (shows({"type": "image", "source": {"type": "url", "url": "https://example.org/a.tiff"}}), "gemini", ""),
        (within(image_block(b"II*", "image/tiff")), "openai", "image type"),
        (shows(*[image_block(png(9, 9, 3_000_000))] * 6), "openai", "bytes"),
        ([user("x" * 20_000_000)], "", "bytes"),
        ([user("x" * 19_900_000)], "", ""),
    ],
)
def test_limits(view: list[Message], provider: str, rule: str) -> None:
    """Each is found by its name, and none where all are kept."""
    assert {one.partition(":")[0] for one in limit_violations(view, provider)} == ({rule} if rule else set())


def test_lower_limits_can_be_given() -> None:
    """The lower one counts."""
    assert limit_violations([user("é" * 1_000)], most_bytes=1_500) == ["bytes: the view has 2,033 of 1,500"]
    assert limit_violations(shows(SMALL, SMALL), most_images=1) == ["images: the view has 2 of 1"]


@proof
def test_a_document_that_is_too_large_is_found_by_its_number() -> None:
    """It is told from those that are not."""
    documents = [
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * size}}
        for size in (5_000, 20_000_004)
    ]
    found = limit_violations(shows(*documents), most_bytes=sys.maxsize)
    assert "document size: document 1 has 20,000,004 characters" in found
    assert not [one for one in found if "document 0" in one]


@pytest.mark.parametrize("maker", FAMILIES)
def test_bonds(maker: str) -> None:
    """What one provider made is found where another one gets it, in every form."""
    message = copy.deepcopy(answer(maker, 1, calls=True))
    message["metadata"] = {**message.get("metadata", {}), "message_id": "m1"}
    view = [user("Go."), message]
    assert bond_violations(view, maker, {"m1": maker}) == []
    assert bond_violations(view, maker, {}) == []
    other = next(name for name in FAMILIES if name != maker)
    assert bond_violations(view, other, {"m1": maker})[0].startswith(f"bond: message 1 of {maker} shows ")
    bare: dict[str, Any] = {"role": "assistant", "content": "Answer.", "metadata": {"message_id": "m1"}}
    assert bond_violations([user("Go."), bare], other, {"m1": maker}) == []


def test_chains() -> None:
    """An id of a response is a violation only in a message from before the plan."""
    message = answer("openai", 1)
    message["metadata"]["message_id"] = "m1"
    assert chain_violations([message], {"m1"}) == ["chain: message 0 from before the plan has openai:response_id"]
    assert chain_violations([message], {"m0"}) == []


def test_both_tables_say_the_same() -> None:
    """The checker's table was written apart from the engine's."""
    for name, limits in [*provider_limits.PUBLISHED.items(), ("", provider_limits.STRICTEST)]:
        said = published.get(name, anybody)
        unlimited = provider_limits.RequestLimits()
        assert (limits.request_bytes, limits.images, limits.image_bytes) == (
            said["bytes"],
            said["images"],
            said["image"],
        )
        assert limits.document_bytes == said["document"]
        assert limits.image_edge == said.get("edge", unlimited.image_edge)
        many = said.get("many", (unlimited.few_images, unlimited.edge_of_many))
        assert (limits.few_images, limits.edge_of_many) == many
        assert limits.types == {f"image/{kind}" for kind in said["types"].split()}
