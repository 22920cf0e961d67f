"""Facts that a session learns from providers' refusals: kept in its log, applied from a process's first request on.

A fact has one of the following names, and the reader that it is about:

- `prefill`: the reader refuses a request that ends with an answer. From then on such a view gets a line at its end.
- `reasoning`: a reader refused reasoning that the view showed unaltered. So the host or a gateway adds to requests
  after their views are made. From then on no view shows stored reasoning to any reader that checks prefixes.
- `others`: the reader dropped reasoning because of its maker. Views for this reader show no stored reasoning.

A session never forgets a fact; a new session begins without any. What follows the refusal of a view as too long is in
`tokens/refused_as_too_long`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..log.record_line import encode_control
from ..tokens.meter import of_session
from ..tokens.model_names import bare_name, kept_name
from ..view.recipients import Recipient
from .host import error_text

PREFILL, REASONING, OTHERS = "prefill", "reasoning", "others"

_REASONING_TEXTS = ("bound to a different conversation", "in `thinking` block", "in `redacted_thinking` block")
"""Texts of Claude's errors about reasoning (Claude docs, "Fix a thinking block bound to a different conversation")."""
_PREFILL_TEXTS = (
    "does not support assistant message prefill",  # Claude; github.com/cortexkit/magic-context/issues/511
    "conversation must end with a user message",
    "requires the last turn in the conversation to be a user message",  # Bedrock; i-am-bee/beeai-framework/issues/753
    "expected last role user or tool",  # Mistral; github.com/0xPlaygrounds/rig/issues/708
    "when the last message is from the assistant",  # vLLM; github.com/mistralai/mistral-vibe/issues/114
    "assistant response prefill is incompatible",  # llama.cpp; github.com/ggml-org/llama.cpp/issues/20861
)
_PREFILL_WORDS = re.compile(r"pre-?fill.{0,60}\bnot (?:be )?(?:supported|allowed)|not support.{0,60}pre-?fill")
"""Other texts of the error: older Claude models with tools (github.com/inngest/agent-kit/issues/41), gateways."""
_TRANSFORMATIONS = "input_transformations"
_DROPPED = "thinking_dropped"
_MAKER_REASONS = ("model", "account", "user", "organization", "workspace")
"""Reasons of blocks that were dropped because of their maker (Amazon Bedrock User Guide, Preserved thinking)."""
_MOST_DEPTH = 2
_PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})

SENTENCES = {
    PREFILL: "The provider {reader} refused a request that ended with an answer, so from now on the line `[continued]` "
    "follows such an answer in this session; nothing needs to be done but to send the request again.",
    REASONING: "The provider {reader} refused the reasoning in a request, because something was added to the request "
    "after this module had made it, so this session shows no earlier reasoning from now on; to keep it, have the host "
    "store what hooks inject (loop-streaming: `ephemeral_injection_mode: persist`) and begin a new session.",
    OTHERS: "The provider {reader} dropped reasoning that another model, account or user made, so this session shows "
    "it no earlier reasoning from now on; nothing needs to be done.",
}
"""The sentence about each fact that a person is shown once."""


class Fact(NamedTuple):
    """One fact that a session learned about a reader (a provider's model): something that the reader refuses."""

    what: str
    provider: str
    model: str

    def encode(self, time: str) -> bytes:
        """Encode the fact as the body of a control record."""
        return encode_control("learned", what=self.what, provider=self.provider, model=self.model, time=time)

    @property
    def sentence(self) -> str:
        """A sentence for a person: what happened, and what to do."""
        names = [name for name in (self.provider, self.model) if name]
        reader = "/".join(names) or "of this session"
        return SENTENCES[self.what].format(reader=reader)


def knows(facts: Iterable[tuple[str, str, str]], what: str, provider: str, model: str) -> bool:
    """Return whether a fact about a reader is known. An empty name matches every name.

    Args:
        facts: known facts, each as its name, a provider and a model.
        what: the name of the wanted fact.
        provider: the provider of the reader.
        model: the model of the reader.
    """
    reader = Recipient.of(provider, model)
    for kind, own_provider, own_model in facts:
        if kind != what:
            continue
        same_provider = not own_provider or not reader.provider or own_provider == reader.provider
        same_model = not own_model or not reader.model or bare_name(own_model) == bare_name(reader.model)
        if what == REASONING or (same_provider and same_model):
            return True
    return False


class Refusals:
    """Learns facts about readers from providers' errors and answers.

    Args:
        session_id: events that name another session are ignored.
    """

    def __init__(self, session_id: str | None) -> None:
        self._session_id = session_id
        self.facts: set[Fact] = set()
        """The facts that this process learned."""
        self.asked: tuple[str, str] = ("", "")
        """The provider and the model of the last request."""

    def hear(self, event: Mapping[str, Any], *, certain: bool = False) -> Fact | None:
        """Learn from an event of a provider's module. Return the fact if it is new, else None.

        Args:
            event: an error, a response, or an answer.
            certain: whether the event is about refused reasoning, whatever its text says.
        """
        what = REASONING if certain else _taught_by(event)
        if what is None or not of_session(event, self._session_id):
            return None
        provider = _kept_text(event.get("provider"))
        model = _kept_text(event.get("model"))
        asked_provider, asked_model = self.asked
        if provider in ("", asked_provider):
            provider = asked_provider
            model = model or asked_model
        if knows(self.facts, what, provider, model):
            return None
        fact = Fact(what, provider, model)
        self.facts.add(fact)
        return fact


def _taught_by(event: Mapping[str, Any]) -> str | None:
    """Return what an event shows about its provider: `REASONING`, `PREFILL` or `OTHERS`; None if it shows nothing."""
    error = error_text(event)
    if any(text in error for text in _REASONING_TEXTS):
        return REASONING
    lowered = error.lower()
    if any(text in lowered for text in _PREFILL_TEXTS) or _PREFILL_WORDS.search(lowered):
        return PREFILL
    reasons = _drop_reasons(event)
    if not reasons:
        return None
    return OTHERS if all(map(_names_maker, reasons)) else REASONING


def _names_maker(reason: str) -> bool:
    """Return whether a block was dropped because of its maker, according to the given reason."""
    return any(word in reason for word in _MAKER_REASONS)


def tells_transformations(message: Any) -> bool:
    """Return whether a message is an answer that reports parts of the request that the provider dropped.

    Args:
        message: the message; its metadata may have the report. An object that is not a mapping reports nothing.
    """
    is_mapping = type(message) is dict or isinstance(message, Mapping)
    return is_mapping and message.get("role") == "assistant" and bool(_drop_reasons(message))


def _kept_text(name: Any) -> str:
    """Return the stored form of a name; "" if the name is not a text."""
    return kept_name(name) if isinstance(name, str) else ""


def _drop_reasons(value: Mapping[str, Any], depth: int = 0) -> list[str]:
    """Return the reasons for which a provider dropped reasoning (Claude API, `input_transformations` of an answer)."""
    reasons: list[str] = []
    for key, inner in value.items():
        kind = type(inner)
        if kind in _PLAIN_TYPES:  # most values are plain; a check of each for a mapping takes much longer
            continue
        if kind is list or isinstance(inner, list):
            last_part_of_key = str(key).rpartition(":")[2]
            if last_part_of_key == _TRANSFORMATIONS:
                reasons += [_reason_of(entry) for entry in inner if _is_drop(entry)]
        elif depth < _MOST_DEPTH and (kind is dict or isinstance(inner, Mapping)):
            reasons += _drop_reasons(inner, depth + 1)
    return reasons


def _is_drop(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get("type") == _DROPPED


def _reason_of(entry: Mapping[str, Any]) -> str:
    return str(entry.get("reason") or "").lower()
