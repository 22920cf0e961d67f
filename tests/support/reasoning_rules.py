"""The providers' rule on bound reasoning, stated once more and independently of the package. Pure.

The rule: reasoning is valid only where everything before it stands as in the request that produced it, and no reasoning
between was left out or moved; else it and all reasoning after it are invalid. What comes first may be left out.
Sources: Claude, "Preserved thinking" and "Prefix checks on thinking blocks"; OpenAI, "Keep the prefix unchanged".

A caller records what was sent and answered, in order. Nothing is hashed or signed here: lists are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from amplifier_module_context_persistent.view.bound_reasoning import sent_hash
from tests.support.sent_requests import Part, Sent


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what was answered; nothing where it failed."""

    sent: Sent
    answer: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Invalid:
    """Reasoning that may not stand where it was sent."""

    request: int
    place: str
    why: str


def find_invalid(exchanges: Sequence[Exchange], requests: Sequence[int] | None = None) -> list[Invalid]:
    """Find the reasoning that is invalid where it was sent.

    Args:
        exchanges: all requests, in the order in which they were sent.
        requests: the numbers of those to look at; by default all.
    """
    found = []
    makers = _makers(exchanges)
    for number in range(len(exchanges)) if requests is None else requests:
        why = ""
        for at, part in enumerate(exchanges[number].sent.parts):
            if not part.mark:
                continue
            why = why or _fault(exchanges, makers, number, at)
            if why:
                found.append(Invalid(number, part.place, why))
                why = "it follows reasoning that is invalid"
    return found


def find_lost(exchanges: Sequence[Exchange], before: int, now: int) -> list[Part]:
    """Find the reasoning that a request lacks although it continues another one.

    A request continues another one if it goes to the same reader and, reasoning aside, begins with what that one sent
    and was answered. Then all reasoning that was shown and answered there is valid here. System text that comes later
    counts as a change of the beginning, for there are providers that put it there.

    Args:
        exchanges: all requests.
        before: the number of the earlier one.
        now: the number of the later one.
    """
    earlier, later = exchanges[before], exchanges[now]
    if _head(earlier.sent) != _head(later.sent) or _reader(earlier.sent) != _reader(later.sent):
        return []
    owed = (*earlier.sent.parts, *earlier.answer)
    said = spoken(owed)
    if spoken(later.sent.parts)[: len(said)] != said:
        return []
    shown = {part.mark for part in later.sent.parts if part.mark}
    return [part for part in owed if part.mark and part.mark not in shown]


def spoken(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """What parts say beside reasoning."""
    return [(part.role, part.text) for part in parts if not part.mark]


def _makers(exchanges: Sequence[Exchange]) -> dict[str, tuple[int, int]]:
    """By mark, the request that produced it and its position in the answer."""
    return {
        part.mark: (number, at)
        for number, exchange in enumerate(exchanges)
        for at, part in enumerate(exchange.answer)
        if part.mark
    }


def _fault(exchanges: Sequence[Exchange], makers: dict[str, tuple[int, int]], number: int, at: int) -> str:
    """Why reasoning is invalid where it stands; empty where it is valid."""
    now, part = exchanges[number].sent, exchanges[number].sent.parts[at]
    if part.mark not in makers:
        return "no request produced it"
    origin, position = makers[part.mark]
    then = exchanges[origin]
    produced = (*then.sent.parts, *then.answer[:position])
    if part.text != then.answer[position].text:
        return "it was altered"
    if now.tools != then.sent.tools:
        return "the tools changed"
    if now.system != then.sent.system:
        return "the system text changed"
    here, there = spoken(now.parts[:at]), spoken(produced)
    if here != there:
        same = next((k for k, (one, two) in enumerate(zip(here, there, strict=False)) if one != two), None)
        return f"part {same} changed" if same is not None else f"{len(here)} parts stand before it, not {len(there)}"
    marks, all_marks = ([one.mark for one in parts if one.mark] for parts in (now.parts[:at], produced))
    if marks != all_marks[len(all_marks) - len(marks) :]:
        return "reasoning before it was left out, moved or put in"
    return ""


def _head(request: Sent) -> tuple[str, ...]:
    late = (part.text for part in request.parts if part.role == "system")
    return (request.tools, *request.system, *late)


def _reader(request: Sent) -> tuple[str, str]:
    return request.provider, request.model


def bound_of(messages: Sequence[dict[str, Any]], tools: str = "") -> str:
    """Tools, then all system text, then every message in order, each hashed onto what came before."""
    running = blake2b(bytes(16) + tools.encode(), digest_size=16).digest()
    instructing = [message for message in messages if message["role"] in ("system", "developer")]
    for digest in map(sent_hash, [*instructing, *messages]):
        running = blake2b(running + digest, digest_size=16).digest() if b"" not in (running, digest) else b""
    return running.hex()
