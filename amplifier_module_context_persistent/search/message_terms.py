"""The weights of the ranked index: how much each term says about a message.

A message has up to four fields, each with a weight (`FIELDS`): what a person or an agent said (less if it is only a
question), thinking, the arguments of calls, and raw output. A term's weight is a sum over the fields (BM25F: Robertson,
Zaragoza, Taylor 2004, https://doi.org/10.1145/1031171.1031181), normalised by each field's own length and saturated.
The lengths are compared with fixed ones instead of averages, so that weights do not depend on other messages.

Results of `recall`, and the calls that asked for them, are not indexed: a search would find earlier searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..messages.message import Message, result_id_of
from ..messages.metadata import RECALL_TOOL, is_human, recalled_from
from ..messages.text import arguments_text, parts_of
from .index_terms import terms_of

VERSION = 4
"""The version of terms, weights and their packing. Increase it with any change, so that stored indexes become void."""
MOST_WEIGHT = 63
"""The largest weight. Weights are whole numbers from 1 on."""
_SATURATION = 1.2
"""The saturation of BM25: a weight of this size counts half of the most that a weight can count."""
WHO = "\0who:"
"""The beginning of the term for a message's speaker, a role or a name."""
_MOST_NAME_CHARS = 64
_SENTENCE_END = re.compile("[.!?]\\s|[\u3002\uff01\uff1f].")
_MOST_ASKED_CHARS = 400


@dataclass(frozen=True, slots=True)
class Field:
    """A kind of text in a message.

    Attributes:
        weight: the weight of a term that occurs once in a field of the usual length.
        usual_terms: the usual length.
        length_share: the part of a weight that depends on the length, from 0 to 1.
    """

    weight: float
    usual_terms: int
    length_share: float


SAID, ASKED, CALLED, OUTPUT, THOUGHT = "said", "asked", "called", "output", "thought"
FIELDS = MappingProxyType(
    {
        SAID: Field(1.0, 60, 0.5),
        ASKED: Field(0.7, 60, 0.5),
        CALLED: Field(0.5, 60, 0.75),
        OUTPUT: Field(0.4, 100, 0.75),
        THOUGHT: Field(0.3, 100, 0.75),
    }
)


def field_texts(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the texts of a message, each with the name of its field."""
    is_output = result_id_of(message) is not None
    if is_output and (message.get("name") == RECALL_TOOL or recalled_from(message)):
        return
    is_said = message.get("role") == "assistant" or is_human(message)
    for part in parts_of(message):
        if part.kind == "thinking":
            yield THOUGHT, part.text
        elif part.kind != "call":
            yield SAID if is_said else OUTPUT, part.text
        elif part.name != RECALL_TOOL:
            yield CALLED, f"{part.name}\n{arguments_text(part.text)}"


def weights_of(message: Message) -> tuple[dict[str, int], int]:
    """Return the weight of each term of a message, and the number of characters of the message's texts."""
    texts: dict[str, list[str]] = {}
    chars = 0
    for name, text in field_texts(message):
        texts.setdefault(name, []).append(text)
        chars += len(text)
    if SAID in texts and _is_question("\n".join(texts[SAID])):
        texts[ASKED] = texts.pop(SAID)
    weights = _weights_of_fields({name: terms_of("\n".join(texts_of_field)) for name, texts_of_field in texts.items()})
    if weights:
        weights.update(dict.fromkeys(_who(message), MOST_WEIGHT))
    return weights, chars


def _weights_of_fields(fields: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    """Return the weights of terms, computed from their numbers in each field."""
    sums: dict[str, float] = {}
    for name, counts in fields.items():
        field = FIELDS[name]
        length = sum(counts.values()) / field.usual_terms
        weight = field.weight / (1 - field.length_share + field.length_share * length)
        if len(fields) == 1:  # as most messages have; their terms have few different counts
            by_count = {count: _saturated(count * weight) for count in set(counts.values())}
            return {term: by_count[count] for term, count in counts.items()}
        for term, count in counts.items():
            sums[term] = sums.get(term, 0.0) + count * weight
    return {term: _saturated(weight) for term, weight in sums.items()}


def _saturated(weight: float) -> int:
    return int(MOST_WEIGHT * weight / (weight + _SATURATION) + 0.5) or 1


def _is_question(text: str) -> bool:
    """Return whether a text is a single question and nothing else. The answer is then in other messages."""
    text = text.strip()
    return text.endswith(("?", "\uff1f")) and len(text) <= _MOST_ASKED_CHARS and _SENTENCE_END.search(text) is None


def who_term(name: str) -> str:
    """Return the term under which messages by a speaker are indexed."""
    return f"{WHO}{name[:_MOST_NAME_CHARS].casefold()}"


def _who(message: Message) -> list[str]:
    """Return the terms for the writer of a message: its role, and a name with its parts."""
    if result_id_of(message) is not None:
        return []
    role = str(message.get("role"))
    roles = []
    if role == "assistant" or is_human(message):
        roles = [role]
    name = message.get("name")
    names = [name, *name.split()] if isinstance(name, str) else []
    return list(dict.fromkeys(map(who_term, [*roles, *names])))
