"""Counting: the counter with a vocabulary, and what a message costs."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.record_limits import MAX_DEPTH
from amplifier_module_context_persistent.tokens.counter import (
    MESSAGE_TOKENS,
    EstimateCounter,
    TiktokenCounter,
    TokenCounter,
    count_message,
)
from tests.support.counters import exact_counter
from tests.support.texts import CHINESE, PROSE, PYTHON

ESTIMATE = EstimateCounter()


class Words:
    """A counter whose counts can be read off a message: one token a word."""

    name = "words"

    def count_text(self, text: str) -> int:
        return len(text.split())


def _cost(message: Mapping[str, object], counter: TokenCounter | None = None) -> int:
    """What a message costs beyond the frame of an empty one of its role."""
    counter = counter or Words()
    return count_message(message, counter) - count_message({"role": message.get("role", "user")}, counter)


class TestTiktokenCounter:
    def test_long_texts_are_counted_in_pieces(self) -> None:
        """Cutting a long text changes its count by less than a thousandth, and a run without spaces ends in time."""
        counter = exact_counter()
        assert isinstance(counter, TiktokenCounter)
        text = (PROSE + PYTHON + CHINESE) * 60
        whole = len(counter.encoding.encode_ordinary(text))
        assert counter.count_text(text) == pytest.approx(whole, rel=0.001)
        start = time.monotonic()
        assert counter.count_text("x" * 1_000_000) > 100_000
        assert time.monotonic() - start < 10

    def test_special_tokens_are_text(self) -> None:
        """What looks like a special token is counted as the text it is."""
        assert exact_counter().count_text("<|endoftext|>") > 1


class TestCountMessage:
    def test_text(self) -> None:
        """A message costs its frame, its role and its content."""
        assert count_message({"role": "user", "content": "one two three"}, Words()) == MESSAGE_TOKENS + 1 + 3
        assert _cost({"role": "user", "content": [{"type": "text", "text": "one two"}, "three"]}) == 3

    def test_what_no_provider_gets_is_free(self) -> None:
        """Metadata, visibility and copies kept by orchestrators cost nothing."""
        block = {"type": "thinking", "thinking": "a b c", "signature": None}
        plain = {"role": "assistant", "content": [block, {"type": "text", "text": "d"}]}
        dressed = {
            **plain,
            "content": [{**block, "visibility": "internal"}, {"type": "text", "text": "d", "visibility": "a b"}],
            "thinking_block": block,
            "content_blocks": [block],
            "metadata": {"note": "many words " * 50},
        }
        assert _cost(plain) == 4
        assert _cost(dressed) == _cost(plain)
        assert _cost({"role": "user", "content": [{"type": "novel", "k": 1, "visibility": "a b c"}]}) == _cost(
            {"role": "user", "content": [{"type": "novel", "k": 1}]}
        )

    def test_thinking_is_counted_where_only_the_copy_is_left(self) -> None:
        """`thinking_block` counts if the content does not hold the thinking."""
        assert (
            _cost({"role": "assistant", "content": "d", "thinking_block": {"type": "thinking", "thinking": "a b"}}) == 3
        )

    def test_calls_are_counted_once(self) -> None:
        """The same call costs the same in either shape, as a block, and with its copy in the content."""
        arguments = {"path": "a.py", "text": "one two three four"}
        bare = {"id": "c1", "tool": "write", "arguments": arguments}
        function = {
            "id": "c1",
            "type": "function",
            "function": {"name": "write", "arguments": json.dumps(arguments, separators=(",", ":"))},
        }
        blocks = [
            {"type": "tool_call", "id": "c1", "name": "write", "input": arguments},
            {"type": "tool_use", "id": "c1", "name": "write", "input": arguments},
        ]
        costs = {
            _cost({"role": "assistant", "content": "", "tool_calls": [bare]}),
            _cost({"role": "assistant", "content": "", "tool_calls": [function]}),
            _cost({"role": "assistant", "content": [blocks[0]]}),
            _cost({"role": "assistant", "content": [blocks[1]]}),
            _cost({"role": "assistant", "content": blocks, "tool_calls": [bare]}),
        }
        assert len(costs) == 1
        other = {"type": "tool_call", "id": "c2", "name": "write", "input": arguments}
        assert _cost({"role": "assistant", "content": [other], "tool_calls": [bare]}) == 2 * costs.pop()

    def test_results(self) -> None:
        """A result costs its output, as a message and as a block, images in it by their size."""
        assert _cost({"role": "tool", "tool_call_id": "c1", "content": "a b c"}) > 3
        block = {"type": "tool_result", "tool_call_id": "c1", "output": "a b c"}
        assert _cost({"role": "user", "content": [block]}) == _cost(
            {"role": "tool", "tool_call_id": "c1", "content": "a b c"}
        )
        image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
        more = {**block, "output": [{"type": "text", "text": "a b c"}, image]}
        assert _cost({"role": "user", "content": [more]}) == _cost({"role": "user", "content": [block]}) + 1600

    @pytest.mark.parametrize("chars", [1, 40, 200, 201, 5_000])
    def test_names_and_ids_cost_their_own_tokens_each_time(self, chars: int) -> None:
        """Also when they were counted before, by another counter, and in a call and its result."""
        label = ("call me " * chars)[:chars]
        for counter in (Words(), EstimateCounter(), Words()):
            for _ in range(2):
                own = counter.count_text(label)
                result = {"role": "tool", "content": ""}
                frame = count_message(result, counter) + 8
                assert count_message({**result, "tool_call_id": label}, counter) == frame + own
                assert count_message({**result, "tool_call_id": label, "name": label}, counter) == frame + 2 * own
                call = {"id": label, "name": label, "arguments": {}}
                empty = {"id": "", "name": "", "arguments": {}}
                said = count_message({"role": "assistant", "tool_calls": [empty]}, counter)
                assert count_message({"role": "assistant", "tool_calls": [call]}, counter) == said + 2 * own

    def test_sealed_reasoning_costs_by_its_length(self) -> None:
        """Signatures and redacted thinking are not read as text."""
        sealed = {"type": "redacted_thinking", "data": "x" * 1600}
        assert _cost({"role": "assistant", "content": [sealed]}, ESTIMATE) == 300
        signed = {"type": "thinking", "thinking": "short", "signature": "x" * 1600}
        assert _cost({"role": "assistant", "content": [signed]}, ESTIMATE) == 300
        reasoning = {
            "type": "reasoning",
            "content": ["x" * 1600, None],
            "summary": [{"type": "summary_text", "text": "a"}],
        }
        assert _cost({"role": "assistant", "content": [reasoning]}, ESTIMATE) == 300

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 2_000_000}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 2_000_000}},
            {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 2_000_000},
            {"type": "image", "data": "A" * 2_000_000, "mimeType": "image/png"},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "image", "source": None},
        ],
    )
    def test_images_cost_by_size_in_every_shape(self, block: dict[str, object]) -> None:
        """An image whose header cannot be read costs the default, however long its base64 is."""
        assert _cost({"role": "user", "content": [block]}) == 1600

    def test_documents(self) -> None:
        """A document given as text costs its text; a PDF its pages; a video no base64."""
        text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a b c"}}
        assert _cost({"role": "user", "content": [text]}) == 3
        parts = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a b"}]}}
        assert _cost({"role": "user", "content": [parts]}) == 2
        pdf = base64.b64encode(b"%PDF-1.4 /Type /Pages /Type /Page /Type/Page").decode()
        paged = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}}
        assert _cost({"role": "user", "content": [paged]}) == 2 * 3100
        video = {"type": "video", "source": {"type": "base64", "media_type": "video/mp4", "data": "A" * 4_000_000}}
        assert _cost({"role": "user", "content": [video]}) == 3000

    def test_unknown_blocks_cost_their_json(self) -> None:
        """A block of an unknown kind costs its compact JSON."""
        assert _cost({"role": "user", "content": [{"type": "novel", "text": "a b"}]}) == 2
        assert _cost({"role": "user", "content": [{"no type": [1, 2]}]}) == 2

    def test_the_message_is_left_alone(self) -> None:
        """Counting changes nothing in the message."""
        message = {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [{"id": "x"}]}
        before = json.dumps(message)
        count_message(message, ESTIMATE)
        assert json.dumps(message) == before

    def test_deep_and_huge_values(self) -> None:
        """Nesting as deep as a log stores it, and numbers beyond 64 bits, are counted all the same."""
        deep: object = "leaf"
        for _ in range(MAX_DEPTH // 2):
            deep = {"type": "tool_result", "output": [deep]}
        assert count_message({"role": "tool", "content": deep}, ESTIMATE) > 0
        assert count_message({"role": "tool", "content": {"\ud800": 2**70, "n": 10**4000}}, ESTIMATE) > 100

    @given(st.data())
    def test_no_message_makes_it_raise(self, data: st.DataObject) -> None:
        """Whatever JSON holds may stand anywhere in a message."""
        message = data.draw(st.dictionaries(_KEYS, _JSON, max_size=6))
        assert count_message(message, ESTIMATE) >= MESSAGE_TOKENS

    @given(st.data())
    def test_no_block_makes_it_raise(self, data: st.DataObject) -> None:
        """Whatever JSON holds may stand anywhere in a block of any kind."""
        blocks = data.draw(st.lists(_BLOCKS, max_size=4))
        calls = data.draw(st.one_of(_JSON, st.lists(_BLOCKS, max_size=3)))
        message = {"role": "assistant", "content": blocks, "tool_calls": calls}
        assert count_message(message, ESTIMATE) >= MESSAGE_TOKENS

    def test_each_text_is_counted_once(self) -> None:
        """What counting takes follows from what a message says."""
        texts: list[str] = []

        class Listening(Words):
            def count_text(self, text: str) -> int:
                texts.append(text)
                return super().count_text(text)

        content = (PYTHON + PROSE)[:2000]
        block = {"type": "text", "text": content}
        for message in (
            {"role": "tool", "tool_call_id": "c1", "name": "read", "content": content},
            {"role": "user", "content": [block]},
        ):
            texts.clear()
            count_message(message, Listening())
            assert sum(content in text for text in texts) == 1
            assert sum(map(len, texts)) < len(content) + 50


_KINDS = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "reasoning", "tool_call", "tool_use", "tool_result", "image", "image_url",
     "input_image", "document", "file", "audio", "input_audio", "video", "novel"]
)  # fmt: skip
_KEYS = st.sampled_from(
    ["role", "content", "name", "tool_call_id", "tool_calls", "thinking_block", "metadata", "id", "type", "text",
     "thinking", "signature", "data", "source", "media_type", "url", "image_url", "input_audio", "format", "output",
     "input", "function", "arguments", "summary", "file", "file_data"]
)  # fmt: skip
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["text", "base64", "url", "data:image/png;base64,iVBOR", "/9j/4AAQ", "c1", "content"]),
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(_KEYS, st.text(max_size=4)), inner, max_size=4),
    ),
    max_leaves=8,
)
_BLOCKS = st.builds(
    lambda kind, rest: {**rest, "type": kind}, st.one_of(_KINDS, _JSON), st.dictionaries(_KEYS, _JSON, max_size=5)
)
