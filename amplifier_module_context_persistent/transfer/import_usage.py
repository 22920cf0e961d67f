"""Usage that a source reports, as the records that a session would have written: what was counted, predicted, billed.

Texts are counted together, from one report to the next: much faster than message by message, and as near as the
estimate itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from ..log.record import encode_control
from ..messages.message import is_block
from ..tokens.calibration import Calibration
from ..tokens.counter import CALL_TOKENS, MESSAGE_TOKENS, EstimateCounter, count_message
from ..tokens.meter import Reading

_MOST_WAITING_CHARS = 1 << 20
_TEXTS = ("text", "thinking")


class ReportedUsage:
    """The reports of one session, in order."""

    def __init__(self) -> None:
        self.reports = 0
        self._counter = EstimateCounter()
        self._known: dict[tuple[str, str], Calibration] = {}
        self._continues = False
        self._counted = 0
        self._waiting: list[str] = []
        self._waiting_chars = 0

    @property
    def counted_tokens(self) -> int:
        """The tokens of what the model would see by now."""
        if self._waiting:
            self._counted += self._counter.count_text("\n".join(self._waiting))
            self._waiting, self._waiting_chars = [], 0
        return self._counted

    def add(self, message: Mapping[str, Any]) -> None:
        """Count a message."""
        content = message.get("content")
        texts = [content] if isinstance(content, str) else []
        for block in content if isinstance(content, list) else ():
            if is_block(block, _TEXTS) and isinstance(block.get(block["type"]), str):
                texts.append(block[block["type"]])
            else:  # an image, or what only the counter knows
                self._counted += count_message(dict(message), self._counter)
                return
        self._counted += MESSAGE_TOKENS
        for call in message.get("tool_calls") or ():
            self._counted += CALL_TOKENS
            texts.append(call["tool"])
            texts.append(_as_json(call["arguments"]))
        self._waiting += texts
        self._waiting_chars += sum(map(len, texts))
        if self._waiting_chars > _MOST_WAITING_CHARS:
            _ = self.counted_tokens

    def compacted(self, counted_tokens: int) -> None:
        """Note that from here on the model sees less."""
        _ = self.counted_tokens
        self._counted, self._continues = counted_tokens, False

    def report(self, usage: Mapping[str, Any], provider: str, model: str) -> bytes | None:
        """The body of the record of a report; None where it says nothing of what was read."""
        given = (usage.get("input_tokens"), usage.get("cache_write_tokens"))
        actual = sum(count for count in given if isinstance(count, int))
        if actual <= 0:
            return None
        known, counted = self._known.get((provider, model), Calibration()), self.counted_tokens
        predicted = known.predict(counted, continues=self._continues)
        learned = known.observe(counted, actual, continues=self._continues)
        cached = usage.get("cache_read_tokens")
        reading = Reading(
            provider, model, counted, predicted, actual, cached if isinstance(cached, int) else 0, learned
        )
        self._known[provider, model], self._continues = learned, True
        self.reports += 1
        record = reading.record()
        for unknown in ("limit_tokens", "output_tokens"):
            del record[unknown]
        return encode_control("usage", **record)


def _as_json(arguments: Any) -> str:
    try:
        return orjson.dumps(arguments).decode()
    except TypeError:  # beyond 64 bits, or a lone surrogate
        return json.dumps(arguments, default=str)
