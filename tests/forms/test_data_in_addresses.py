"""Media whose address holds them (RFC 2397), in base64 or with percent signs."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    to_anthropic,
    to_gemini,
    to_openai,
    to_openai_responses,
)
from tests.support.foreign_messages import PNG

WRITERS = {"anthropic": to_anthropic, "openai": to_openai, "responses": to_openai_responses, "gemini": to_gemini}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("form", ["openai_chat", "openai_responses"])
async def test_data_with_percent_signs_are_the_same_image(form: str, name: str) -> None:
    """Every provider gets it in base64."""
    address = f"data:image/png,{quote(base64.b64decode(PNG))}"
    blocks: dict[str, dict[str, Any]] = {
        "openai_chat": {"type": "image_url", "image_url": {"url": address}},
        "openai_responses": {"type": "input_image", "image_url": address},
    }
    async with InMemoryContextManager() as manager:
        await manager.add_message({"role": "user", "content": [blocks[form]]})
        body = json.dumps(WRITERS[name](await manager.get_messages_for_request()))
    assert PNG in body
    assert "%89" not in body
