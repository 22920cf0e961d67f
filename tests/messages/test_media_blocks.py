"""Images and documents in a message: found, measured, and replaced by a line."""

import copy
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.media_blocks import Medium, media_of, medium_blocks, without_media
from tests.support.messages import Message
from tests.support.pictures import block, jpeg, png

PNG, JPEG = block(png(640, 480, 900)), block(jpeg(300, 200, 700), "image/jpeg")
DOCUMENT: Message = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 400},
}
ADDRESS: Message = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


def result(*outputs: Any) -> Message:
    blocks = [{"type": "tool_result", "tool_call_id": "c", "output": output} for output in outputs]
    return {"role": "tool", "tool_call_id": "c", "content": blocks}


def test_an_image_is_measured_by_its_header() -> None:
    """Type, edges, and the sizes of the file and of its text."""
    found = media_of({"role": "user", "content": [{"type": "text", "text": "Look."}, PNG, JPEG, ADDRESS]})
    assert found == (
        Medium("image", "image/png", 1_200, 640, 480, 900),
        Medium("image", "image/jpeg", 936, 300, 200, 700),
        Medium("image", "", 0),
    )
    assert [medium.edge for medium in found] == [640, 300, 0]


@pytest.mark.parametrize(
    "message",
    [
        result([PNG, {"type": "text", "text": "x"}, DOCUMENT]),
        result({"content": [PNG, DOCUMENT]}),
        result([{"type": "tool", "content": [PNG]}], [DOCUMENT]),
    ],
)
def test_media_within_results_are_found(message: Message) -> None:
    """In the output of a result block, also below it."""
    assert [medium.kind for medium in media_of(message)] == ["image", "document"]
    assert medium_blocks(message) == [PNG, DOCUMENT]


def test_what_is_left_out_leaves_a_line_and_the_rest_stays() -> None:
    """The line says type, size and reference; nothing is mutated."""
    message = {"role": "user", "content": [{"type": "text", "text": "Look."}, PNG, JPEG]}
    before = copy.deepcopy(message)
    shown = without_media(message, {0}, "m7")
    line = "[image 1 of 2 left out: image/png, 640 x 480 px, 900 bytes; recall m7 image=1]"
    assert shown == {"role": "user", "content": [message["content"][0], {"type": "text", "text": line}, JPEG]}
    assert message == before
    alone = without_media({"role": "user", "content": [PNG]}, {0}, "m7")
    line = "[image left out: image/png, 640 x 480 px, 900 bytes; recall m7]"
    assert alone["content"] == [{"type": "text", "text": line}]


def test_copies_beside_the_content_go_too() -> None:
    """What a host keeps in `content_blocks` of an image that is left out would travel as well."""
    message = {"role": "user", "content": [PNG, JPEG], "content_blocks": [PNG, JPEG]}
    assert without_media(message, {0}, "m7")["content_blocks"] == [JPEG]


def test_media_within_results_are_left_out() -> None:
    """Also there, each by its number."""
    shown = without_media(result([PNG], {"content": [DOCUMENT]}), {1}, "m7")
    assert shown["content"][0]["output"] == [PNG]
    line = "[document 2 of 2 left out: application/pdf, 300 bytes; recall m7 image=2]"
    assert shown["content"][1]["output"] == {"content": [{"type": "text", "text": line}]}


def test_what_only_begins_like_an_image_has_no_edges() -> None:
    """Edges of a million pixels are none."""
    (medium,) = media_of({"role": "user", "content": [block(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"ABCD" * 9)]})
    assert medium.edge == 0


@pytest.mark.parametrize(
    "content",
    ["text", None, 7, [None, "x", {"type": 3}, {"type": "tool_result"}], [{"type": "text", "text": "x"}], [[PNG]]],
)
def test_what_holds_no_media_is_given_back(content: Any) -> None:
    """Nothing is found, nothing is made anew."""
    assert media_of({"role": "user", "content": content}) == ()
    assert without_media({"role": "user", "content": content}, {0}, "m")["content"] is content


@pytest.mark.parametrize("strange", [None, 7, "x", [], {}, {"type": {}}, [{"type": ["image"]}]])
def test_what_is_no_block_as_hosts_write_it_is_read_all_the_same(strange: Any) -> None:
    """In any place, anything that JSON holds."""
    for one in (strange, {"type": "image", "source": strange}, {"type": "image", "source": {"data": strange}}):
        for message in ({"content": [one]}, {"content": [{"type": "tool_result", "output": [one]}]}):
            assert len(media_of(message)) == len(medium_blocks(message)) <= 1
            without_media({**message, "content_blocks": [one, strange]}, {0}, "m")
