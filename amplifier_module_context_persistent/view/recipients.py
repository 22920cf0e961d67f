"""The readers of views, and the reasoning that each reader accepts: one table, each row with its source and its date.

Reasoning may be bound to

- its *prefix*: it is valid only if everything before it in the request is unchanged. Otherwise the reader refuses the
  request, or drops this reasoning and everything after it;
- its *model*: other models cannot read it, except those that the table names;
- its *account*: requests do not name the account, so the provider's name is compared instead.

A reader that no row knows binds to the prefix: reasoning that is left out is at most missed, reasoning that is shown
wrongly may be refused. Without a reader a view shows all reasoning until a plan shortens it. Thinking without a
signature is bound to nothing, and is not sent to Anthropic. The running tool loop keeps its reasoning if its reader
checks no prefix: older Claude models demand it, and Gemini demands the signatures of its calls.

Some readers also refuse a request that ends with an answer (`refuses_prefill`).

The tables may change, and older views must still be verified. So `RULES` counts the versions, and a receipt names
the version of its view.

Besides reasoning, *chains* are for their maker alone: the id of a response that a server keeps. A request that names it
gets back all that the server knows of the conversation before it, so an id from before a plan brings back what the plan
left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..messages.message import THINKING_BLOCKS, Message, blocks_of, is_block, metadata_of
from ..messages.metadata import bound_to
from ..tokens.model_names import bare_name, first_bare_name, kept_name

ANTHROPIC, OPENAI, GEMINI = "anthropic", "openai", "gemini"
FAMILIES = frozenset({ANTHROPIC, OPENAI, GEMINI})
"""The families that sign or encrypt their reasoning."""

PREFIX, MODEL, ACCOUNT, END_USER = "prefix", "model", "account", "end user"

FIRST_RULES, RULES = 1, 2
"""The versions of these tables, and of the rules for lines (`wire_rules`): the first, and the one in force."""

_PARTS = (
    (ANTHROPIC, ("anthropic", "claude")),
    (OPENAI, ("openai", "codex", "chatgpt", "gpt-", "o1-", "o3-", "o4-")),
    (GEMINI, ("gemini", "google")),
)


class Binding(NamedTuple):
    """A provider's rule for accepting an answer's reasoning again: the parts of the request that must be unchanged."""

    family: str
    """The family of providers; "" for any."""
    models: str
    """A regular expression for the models' names; "" for all models, also unnamed ones."""
    binds: frozenset[str]
    reads: str
    """A regular expression for other models of the family. The row's models can read the reasoning of those; "" for
    none."""
    source: str
    read_on: str
    narrates: bool = False
    """Whether the model's text between tool calls arrives as readable thinking."""

    def fits(self, family: str, model: str) -> bool:
        """Return whether the row of the table applies to a model. `model` is "" if the request does not name one."""
        if self.family not in ("", family):
            return False
        if not self.models:
            return True
        return bool(model) and re.search(self.models, model) is not None


class Prefill(NamedTuple):
    """The first version of a family's models that refuses a request that ends with an answer."""

    family: str
    version: re.Pattern[str]
    """Finds the version in a model's name: one or two numbers."""
    names: tuple[str, ...]
    """Words of which each such model has one in its name. Models without such a word are unknown."""
    refuses_from: tuple[int, int]
    source: str
    read_on: str


_OLDER_CLAUDE = r"claude-(?:instant|\d)|(?:opus|sonnet|haiku|fable|mythos)-(?:3|4|4-\d|5|preview)$"
_PRESERVED = "Claude docs, Preserved thinking; Prefix checks on thinking blocks"

BINDINGS = (
    Binding(
        ANTHROPIC,
        r"fable-5-1$",
        frozenset({PREFIX, MODEL}),
        r"(?:opus-5(?:-5)?|mythos-5-1)$",
        _PRESERVED,
        "2026-11-26",
    ),
    Binding(
        ANTHROPIC,
        r"fable-5-2$",
        frozenset({PREFIX, MODEL}),
        r"(?:opus-5(?:-5)?|mythos-5-2)$",
        _PRESERVED,
        "2026-11-26",
    ),
    Binding(ANTHROPIC, r"mythos-5-1$", frozenset({PREFIX, MODEL}), r"fable-5-1$", _PRESERVED, "2026-11-26"),
    Binding(ANTHROPIC, r"mythos-5-2$", frozenset({PREFIX, MODEL}), r"fable-5-2$", _PRESERVED, "2026-11-26"),
    Binding(ANTHROPIC, r"opus-5-5$", frozenset({PREFIX, MODEL}), "", _PRESERVED, "2026-11-22"),
    Binding(
        ANTHROPIC,
        r"sonnet-5-5$",
        frozenset({PREFIX, MODEL, ACCOUNT}),
        "",
        f"{_PRESERVED}; `between_tools`: thinking blocks unless it is set",
        "2026-11-22",
        narrates=True,
    ),
    Binding(ANTHROPIC, r"haiku-5-5$", frozenset({PREFIX, MODEL, ACCOUNT}), "", _PRESERVED, "2026-11-22"),
    Binding(
        ANTHROPIC, _OLDER_CLAUDE, frozenset({MODEL}), _OLDER_CLAUDE, "Claude docs, Extended thinking", "2026-11-22"
    ),
    Binding(ANTHROPIC, "", frozenset({PREFIX, MODEL}), "", _PRESERVED, "2026-11-22"),
    Binding(
        OPENAI,
        r"(?:gpt-[1-5](?!\d)|gpt-6(?:-[01])?(?![-\d]*\d)|o\d|codex)",
        frozenset({MODEL, ACCOUNT}),
        "",
        "OpenAI docs, Reasoning models; its users' `invalid_encrypted_content`",
        "2026-11-22",
    ),
    Binding(
        OPENAI,
        "",
        frozenset({PREFIX, MODEL, ACCOUNT, END_USER}),
        "",
        "OpenAI docs, Using GPT-6.2: Keep the prefix unchanged",
        "2026-11-26",
    ),
    Binding(GEMINI, "", frozenset({MODEL, ACCOUNT}), "", "Gemini API docs, Thought signatures", "2026-11-22"),
    Binding("", "", frozenset({PREFIX, MODEL, ACCOUNT}), "", "none: the careful way", "2026-11-22"),
)
"""The rules of all providers. The first matching row is used."""

_FIRST_BINDINGS = (
    Binding(ANTHROPIC, r"fable-5-[12]$", frozenset({PREFIX, MODEL}), r"opus-5(?:-5)?$", _PRESERVED, "2026-11-22"),
    Binding(ANTHROPIC, r"(?:mythos-5-[12]|opus-5-5)$", frozenset({PREFIX, MODEL}), "", _PRESERVED, "2026-11-22"),
    *BINDINGS,
)
"""The rows of `FIRST_RULES`."""

_READ_BY_ALL = re.compile(r"haiku-5-5$")
"""Models whose blocks all models of the account read (Amazon Bedrock User Guide, Preserved thinking; 2026-11-26)."""

PREFILL = (
    Prefill(
        ANTHROPIC,
        re.compile(r"(?:claude|opus|sonnet|haiku|fable|mythos)-(?:instant-|v)?(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?"),
        ("claude", "opus", "sonnet", "haiku", "fable", "mythos"),
        (4, 6),
        "Claude docs, Migration guide: prefill is gone; github.com/cortexkit/magic-context/issues/511 (Sonnet 4.6, 5)",
        "2026-11-26",
    ),
)
"""The models that refuse a request that ends with an answer. Other models get such requests until they refuse."""

ACCEPT_OWN_ITEMS = {ANTHROPIC: "Claude docs, Compaction and preserved thinking (beta compact-2026-09-04)"}
"""Families that accept reasoning after an item of their own compaction, with the source.

The messages must follow the item directly and unaltered, with the same tools and system text. OpenAI's docs do not
promise this for turns that are kept after an item.
"""


@dataclass(frozen=True, slots=True)
class Bond:
    """The maker of the bound parts of a message, as far as the maker is known."""

    family: str = ""
    provider: str = ""
    model: str = ""
    may_be: frozenset[str] = FAMILIES
    """The signing families that may have made the content."""
    unsigned: bool = False
    """Whether visible thinking in the message has no signature."""
    reasoning: bool = True
    """Whether reasoning is bound; if false, only the id of a server's copy is."""
    request: str = ""
    """The `bound` of the answer's request, if the reasoning depends on it."""
    chained: bool = False
    """Whether the message names a server's copy of the conversation so far, or repeats its answer."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """The reader of a view. Without provider and model the reader is unknown."""

    provider: str = ""
    model: str = ""
    rules: int = RULES
    """The version of the tables to use."""

    @classmethod
    def of(cls, provider: str, model: str, *, rules: int = RULES) -> Recipient:
        """Make the reader that a request names, with the names shortened as in receipts."""
        return cls(kept_name(provider), kept_name(model), rules)

    @classmethod
    def parse(cls, name: str) -> Recipient:
        """Read a reader's name as people write it: `anthropic`, `anthropic/claude-opus-5-5`, or only a model's name."""
        provider, slash, model = name.strip().partition("/")
        has_digit = any(char.isdigit() for char in provider)
        is_only_model = not slash and has_digit and family_of("", provider) in FAMILIES
        if is_only_model:
            return cls.of(family_of("", provider), provider)
        return cls.of(provider, model)

    @property
    def is_named(self) -> bool:
        """Whether the provider or the model is known."""
        return bool(self.provider or self.model)

    @property
    def refuses_prefill(self) -> bool:
        """Whether the reader is known to refuse a request that ends with an answer."""
        family = self.family
        row = next((row for row in PREFILL if row.family == family), None)
        if row is None:
            return False
        model = bare_name(self.model)
        if model and not any(name in model for name in row.names):
            return False
        version = row.version.search(model)
        if version is None:  # a name without a version means the newest model
            return True
        return (int(version[1]), int(version[2] or 0)) >= row.refuses_from

    @property
    def family(self) -> str:
        """The family of the reader's provider and model."""
        return family_of(self.provider, self.model)

    @property
    def binding(self) -> Binding:
        """The row of the table of bindings that applies to this reader."""
        return _binding_of(self.family, self._plain(self.model), self.rules)

    def _plain(self, model: str) -> str:
        return bare_name(model) if self.rules > FIRST_RULES else first_bare_name(model)

    @property
    def checks_prefix(self) -> bool:
        """Whether the reader refuses reasoning if the messages before it are not the same as when it was made."""
        return PREFIX in self.binding.binds

    def is_narrated(self, bond: Bond) -> bool:
        """Return whether the reader gets its own thinking between tool calls as text. The table names such models."""
        return self.binding.narrates and bool(self.provider) and not self.refuses(bond)

    def refuses(self, bond: Bond) -> bool:
        """Return whether the reader would refuse content with this bond, whatever comes before the content.

        If the maker is unknown, every family that may have made the content is taken to accept it. An unknown reader
        refuses nothing.
        """
        family = self.family
        if not self.provider:
            return False
        if family == ANTHROPIC and bond.unsigned:
            return True
        if not bond.family:
            return family in FAMILIES and family not in bond.may_be
        if bond.family != family:
            return True
        return self._refuses_family(bond)

    def _refuses_family(self, bond: Bond) -> bool:
        """Return whether the reader would refuse this content of its own family.

        The answer depends on the provider and the model that made the content.
        """
        binding = self.binding
        is_elsewhere = bool(bond.provider) and bond.provider.lower() != self.provider.lower()
        if ACCOUNT in binding.binds and is_elsewhere:
            return True
        maker = self._plain(bond.model)
        own = self._plain(self.model)
        if MODEL not in binding.binds or not maker or not own or maker == own:
            return False
        has_later_rules = self.rules > FIRST_RULES and self.family == ANTHROPIC
        if has_later_rules and _READ_BY_ALL.search(maker) and not own.endswith("haiku-5-5"):
            return is_elsewhere
        may_read = bool(binding.reads) and re.search(binding.reads, maker) is not None
        return not may_read


NOBODY = Recipient()


@lru_cache(maxsize=256)
def family_of(provider: str, model: str = "") -> str:
    """Return the family of a model, or of its provider; without either, the provider's name in small letters."""
    for name in (model.lower(), provider.lower()):
        for family, parts in _PARTS:
            if any(part in name for part in parts):
                return family
    return provider.lower()


@lru_cache(maxsize=256)
def _binding_of(family: str, model: str, rules: int) -> Binding:
    table = BINDINGS if rules > FIRST_RULES else _FIRST_BINDINGS
    return next(row for row in table if row.fits(family, model))


CHAIN_NAMES = frozenset({"response_id", "previous_response_id", "interaction_id", "previous_interaction_id"})
"""Metadata keys for the id of a server's copy of the conversation so far.

A key may have a prefix before a colon (`openai:response_id`), or be below the name of a family.
"""

REPEATS = frozenset({"wire_content"})
"""Metadata keys for an answer as the server gave it. A provider's module sends this form instead of the content."""

REASONING_NAMES = REPEATS | frozenset(
    {
        *("reasoning_items", "reasoning_details", "encrypted_content", "reasoning", "compaction", "thinking_binding"),
        *("thought_signature", "thought_signatures", "signature"),
    }
)
"""Metadata keys for bound content, with prefixes as in `CHAIN_NAMES`. Providers' modules send it with the message."""

_THINKING = frozenset({"thinking"})
SIGNATURES = ("signature", "thought_signature", "thoughtSignature", "encrypted_content")


def bond_of(message: Message, request_of: tuple[str, str]) -> Bond | None:
    """Return the maker of the bound parts of a message, or None if no part is bound.

    Args:
        message: the message in the form of the log.
        request_of: the provider and the model in the receipt of the message's request; two empty texts if unknown.
    """
    metadata = metadata_of(message)
    may_be, is_bound = _makers(message)
    is_reasoning = is_bound or bool(only_names(metadata, REASONING_NAMES))
    if not is_reasoning and not only_names(metadata, CHAIN_NAMES):
        return None
    provider = _text(metadata, message, "provider")
    model = _text(metadata, message, "model")
    family = family_of(provider, model) or _family_by_form(may_be, metadata)
    asked_provider, asked_model = request_of
    asked_family = family_of(asked_provider, asked_model)
    if not provider and asked_provider and family in ("", asked_family):
        # The message does not name its provider, and may be from the one that was asked.
        provider = asked_provider
        model = model or asked_model
        family = asked_family
    return Bond(
        family=family,
        provider=provider,
        model=model or _compacting_model(metadata),
        may_be=may_be,
        unsigned=_has_unsigned(message),
        reasoning=is_reasoning,
        request=bound_to(message),
        chained=bool(only_names(metadata, CHAIN_NAMES | REPEATS)),
    )


def _family_by_form(may_be: frozenset[str], metadata: Mapping[str, Any]) -> str:
    """Return the family that made a message, or "" if unknown.

    Args:
        may_be: the families that the form of the message's blocks allows. If it is only one, it is returned.
        metadata: the message's metadata. Otherwise the family that its keys name is returned.
    """
    if len(may_be) == 1:
        [family] = may_be
        return family
    named_families = {_namespace(key) for key in metadata} & FAMILIES
    if len(named_families) != 1:
        return ""
    [family] = named_families
    return family


def _makers(message: Message) -> tuple[frozenset[str], bool]:
    """Return the families that may have made a message, and whether any block is bound to its maker.

    Both follow from the types and the signatures of the message's blocks.
    """
    may_be = FAMILIES
    is_bound = False
    blocks = [message.get("thinking_block"), *_blocks(message, "content"), *_blocks(message, "tool_calls")]
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = str(block.get("type"))
        signed = any(block.get(key) for key in SIGNATURES)
        is_bound = is_bound or signed or kind in THINKING_BLOCKS
        if kind == "redacted_thinking":
            may_be &= {ANTHROPIC}
        elif kind == "reasoning" or (kind == "thinking" and block.get("content")):
            may_be &= {OPENAI}
        elif signed and kind == "thinking":
            may_be &= {ANTHROPIC, GEMINI}
        elif signed:
            may_be &= {GEMINI}
    return may_be, is_bound


def _has_unsigned(message: Message) -> bool:
    """Return whether visible thinking has no signature.

    `thinking_block` is checked only if the content has no thinking.
    """
    blocks: list[Any] = blocks_of(message, _THINKING)
    beside_content = message.get("thinking_block")
    if not blocks and is_block(beside_content, _THINKING):
        blocks = [beside_content]
    return any(not block.get("signature") and not block.get("content") for block in blocks)


def _compacting_model(metadata: Mapping[str, Any]) -> str:
    """Return the model that the message's compaction item names as its maker, or "" without such an item."""
    for key, item in metadata.items():
        if key.rpartition(":")[2] == "compaction" and isinstance(item, dict):
            model = item.get("model")
            if isinstance(model, str):
                return model
    return ""


def lacks_reasoning(message: Message) -> bool:
    """Return whether an answer has the `bound` of its request but no reasoning: its reasoning was left out."""
    if not bound_to(message):
        return False
    bond = bond_of(message, ("", ""))
    return bond is None or not bond.reasoning


def reasons_first(message: Message, *, once: bool) -> bool:
    """Return whether an answer begins with all its reasoning. `once` allows only one block of reasoning."""
    content = _blocks(message, "content")
    positions = [position for position, block in enumerate(content) if is_block(block, THINKING_BLOCKS)]
    if once and len(positions) > 1:
        return False
    return positions == list(range(len(positions)))


def _blocks(message: Message, key: str) -> list[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else []


def _namespace(key: Any) -> str:
    """Return the family in the name of a metadata key (`openai`, `openai:response_id`), or "" if there is none."""
    prefix, colon, _ = str(key).partition(":")
    family = family_of(prefix)
    if family not in FAMILIES:
        return ""
    names_family = bool(colon) or prefix == family
    return family if names_family else ""


def metadata_without(metadata: Mapping[str, Any], names: frozenset[str]) -> Message:
    """Return metadata without the keys in `names`, also inside the part of a provider family."""
    remaining: Message = {}
    for key, value in metadata.items():
        if _is_named(key, names):
            continue
        remaining[key] = metadata_without(value, names) if _inner(key, value) else value
    return remaining


def only_names(metadata: Mapping[str, Any], names: frozenset[str]) -> Message:
    """Return only the metadata whose keys are in `names`, also inside the part of a provider family."""
    picked = {key: value for key, value in metadata.items() if _is_named(key, names)}
    inner = {key: only_names(value, names) for key, value in metadata.items() if _inner(key, value)}
    return picked | {key: value for key, value in inner.items() if value}


def _is_named(key: Any, names: frozenset[str]) -> bool:
    return str(key).rpartition(":")[2] in names


def _inner(key: Any, value: Any) -> bool:
    """Return whether a metadata value is the part of a provider family."""
    return isinstance(value, dict) and str(key) in FAMILIES


def _text(first: Mapping[str, Any], second: Mapping[str, Any], key: str) -> str:
    value = first.get(key) or second.get(key)
    return value if isinstance(value, str) else ""
