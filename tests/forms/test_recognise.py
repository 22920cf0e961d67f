"""Recognising the form of a message by its shape."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.forms.recognise import FORMS, is_plain, shape_of

TEXTS = ([], [{"type": "text", "text": "one"}], [{"type": "text", "text": "one"}, {"type": "text", "text": ""}])


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system", "developer"])
@pytest.mark.parametrize("before", ["", *FORMS])
def test_blocks_of_text_are_amplifiers_own_after_any_form(role: str, before: str) -> None:
    for content in TEXTS:
        message = {"role": role, "content": content, "metadata": {"turn": 1}}
        assert is_plain(message)
        assert shape_of(message, before) is None


@pytest.mark.parametrize(
    "block",
    [
        {"text": "one"},
        {"type": "input_text", "text": "one"},
        {"type": "text", "text": "one", "citations": []},
        {"type": "text", "text": ["one"]},
        {"type": "text"},
        "one",
    ],
)
def test_other_blocks_are_looked_at(block: object) -> None:
    assert not is_plain({"role": "user", "content": [{"type": "text", "text": "a"}, block]})
