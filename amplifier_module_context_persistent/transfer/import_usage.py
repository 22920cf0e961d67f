"""What a source tells of its model's counts: the calibration that the first view of the imported session begins with.

The requests themselves are in their answers' `metadata.usage`, and are counted there. Nothing was predicted for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..log.record import encode_control
from ..messages.message import is_block
from ..tokens.calibration import Calibration, actual_tokens
from ..tokens.counter import CALL_TOKENS, MESSAGE_TOKENS, EstimateCounter, count_message
from .importers.fields import as_text

_MOST_WAITING_CHARS = 1 << 20
_TEXTS = ("text", "thinking")


class ContextSize:
    """What the model of one session would see, in our tokens, beside what its providers reported.

    Texts are counted together, from one report to the next: much faster than message by message, and as near as the
    estimate itself.
    """

    def __init__(self) -> None:
        self.reports = 0
        """How many answers say what their request read."""
        self._counter = EstimateCounter()
        self._ends: dict[tuple[str, str], list[tuple[int, int]]] = {}
        """By provider and model, our count and the provider's at the first and the last report."""
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
            texts += [call["tool"], as_text(call["arguments"])]
        self._waiting += texts
        self._waiting_chars += sum(map(len, texts))
        if self._waiting_chars > _MOST_WAITING_CHARS:
            _ = self.counted_tokens

    def reset(self, counted_tokens: int) -> None:
        """Note that from here on the model sees only so much: after a compaction or a clear."""
        self._waiting, self._waiting_chars = [], 0
        self._counted = counted_tokens

    def report(self, usage: Mapping[str, Any], provider: str, model: str) -> None:
        """Take what a provider reported of the request with what was counted so far."""
        if actual := actual_tokens(usage):
            ends = self._ends.setdefault((provider, model), [])
            ends[1:] = [(self.counted_tokens, actual)]
            self.reports += 1

    def records(self) -> Iterator[bytes]:
        """For each provider and model, the body of the record from which a session's token meter goes on.

        It names no tokens of a request, so nobody counts it as one.
        """
        for (provider, model), ends in self._ends.items():
            learned = Calibration()
            for counted, actual in ends:
                learned = learned.observe(counted, actual, continues=True)
            yield encode_control(
                "usage",
                provider=provider,
                model=model,
                ratio=round(learned.ratio, 4),
                overhead_tokens=learned.overhead_tokens,
                state=learned.to_record(),
            )
