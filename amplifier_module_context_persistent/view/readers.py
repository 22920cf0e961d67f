"""Who gets a view, and what reasoning each reader takes: one table, each row with its source and when it was read.

Reasoning may be bound to

- its *prefix*: it is valid only where all that the request was sent before it stands as it stood then. The reader
  refuses the request otherwise, or drops that reasoning and what follows it;
- its *model*: others cannot read it, but for those that the table names;
- its *account*: the name of the provider stands for it, as nobody tells the account itself.

A reader that is not named binds to the prefix, and so does one that no row knows: what is left out there is at most
missed, what is shown wrongly may be refused. Thinking without a signature is bound to nothing, and is not sent to
Anthropic. The tool loop that is running keeps its reasoning wherever no prefix is checked: older Claude models demand
it, Gemini demands the signatures of its calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

ANTHROPIC, OPENAI, GEMINI = "anthropic", "openai", "gemini"
FAMILIES = frozenset({ANTHROPIC, OPENAI, GEMINI})
"""The families that sign or encrypt their reasoning."""

PREFIX, MODEL, ACCOUNT = "prefix", "model", "account"

_PARTS = (
    (ANTHROPIC, ("anthropic", "claude")),
    (OPENAI, ("openai", "codex", "chatgpt", "gpt-", "o1-", "o3-", "o4-")),
    (GEMINI, ("gemini", "google")),
)
_NAME_CHARS = 64  # as receipts keep them
_SNAPSHOT = re.compile(r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3}))?(?:-v\d+)?(?::\w+)?$")


class Binding(NamedTuple):
    """What the models of a family bind reasoning to."""

    family: str
    """Empty for any."""
    models: str
    """A regular expression that finds their names; empty for any, also where none is named."""
    binds: frozenset[str]
    reads: str
    """A regular expression for the names of other models of the family whose reasoning they read; empty for none."""
    source: str
    read_on: str


_OLDER_CLAUDE = r"claude-(?:instant|\d)|(?:opus|sonnet|haiku|fable|mythos)-(?:3|4|4-\d|5|preview)$"
_PRESERVED = "Claude docs, Preserved thinking; Prefix checks on thinking blocks"

BINDINGS = (
    Binding(ANTHROPIC, r"fable-5-[12]$", frozenset({PREFIX, MODEL}), r"opus-5(?:-5)?$", _PRESERVED, "2026-11-22"),
    Binding(ANTHROPIC, r"(?:mythos-5-[12]|opus-5-5)$", frozenset({PREFIX, MODEL}), "", _PRESERVED, "2026-11-22"),
    Binding(ANTHROPIC, r"(?:sonnet|haiku)-5-5$", frozenset({PREFIX, MODEL, ACCOUNT}), "", _PRESERVED, "2026-11-22"),
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
        frozenset({PREFIX, MODEL, ACCOUNT}),
        "",
        "OpenAI docs, Using GPT-6.2: Keep the prefix unchanged",
        "2026-11-22",
    ),
    Binding(GEMINI, "", frozenset({MODEL, ACCOUNT}), "", "Gemini API docs, Thought signatures", "2026-11-22"),
    Binding("", "", frozenset({PREFIX, MODEL, ACCOUNT}), "", "none: the careful way", "2026-11-22"),
)
"""The first row that fits says how a reader binds."""

_BEFORE = (
    Binding(ANTHROPIC, "", frozenset(), "", "views whose receipts have no `bound`", "2026-11-22"),
    Binding("", "", frozenset({MODEL, ACCOUNT}), "", "views whose receipts have no `bound`", "2026-11-22"),
)
"""How it was before receipts had `bound`: their views are made again by it."""


@dataclass(frozen=True, slots=True)
class Bond:
    """Who made what is bound in a message, as far as it is known."""

    family: str = ""
    provider: str = ""
    model: str = ""
    may_be: frozenset[str] = FAMILIES
    """Of the families that sign, those that can have made it."""
    unsigned: bool = False
    """Whether thinking in it has no signature."""
    reasoning: bool = True
    """Whether what is bound is reasoning; else it is only the name of what a server keeps."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who gets a view; without a name, nobody knows who."""

    provider: str = ""
    model: str = ""
    before_bound: bool = False
    """Whether the rules are those from before receipts had `bound`."""

    @classmethod
    def of(cls, provider: str, model: str, *, before_bound: bool = False) -> Reader:
        """The reader that a request names, with its names as receipts keep them."""
        return cls(provider[:_NAME_CHARS], model[:_NAME_CHARS], before_bound)

    @property
    def family(self) -> str:
        """Its family."""
        return family_of(self.provider, self.model)

    @property
    def binding(self) -> Binding:
        """Its row of the table."""
        return _binding_of(self.family, plain_model(self.model), _BEFORE if self.before_bound else BINDINGS)

    @property
    def checks_prefix(self) -> bool:
        """Whether reasoning is valid for it only after the prefix that it was made for."""
        return PREFIX in self.binding.binds

    @property
    def takes_plain_thinking(self) -> bool:
        """Whether it may get the text of another one's thinking: those that sign their own refuse what is unsigned."""
        return self.family not in FAMILIES

    def refuses(self, bond: Bond) -> bool:
        """Whether it would refuse what somebody made, whatever stands before it.

        What nobody is known to have made is given to whom it may be of; a reader without a name gets everything.
        """
        family = self.family
        if not self.provider:
            return False
        if family == ANTHROPIC and bond.unsigned and not self.before_bound:
            return True
        if not bond.family:
            return family in FAMILIES and family not in bond.may_be
        if bond.family != family:
            return True
        binding = self.binding
        if ACCOUNT in binding.binds and bond.provider and bond.provider.lower() != self.provider.lower():
            return True
        maker, own = plain_model(bond.model), plain_model(self.model)
        if MODEL not in binding.binds or not maker or not own or maker == own:
            return False
        return not (binding.reads and re.search(binding.reads, maker))


@lru_cache(maxsize=256)
def family_of(provider: str, model: str = "") -> str:
    """The family of a provider: that of its model, else of its name; its own name where neither is known."""
    for name in (model.lower(), provider.lower()):
        for family, parts in _PARTS:
            if any(part in name for part in parts):
                return family
    return provider.lower()


@lru_cache(maxsize=256)
def plain_model(model: str) -> str:
    """A model's name without what routers put before it and the date after it; points become hyphens."""
    return _SNAPSHOT.sub("", model.lower().rpartition("/")[2]).replace(".", "-")


@lru_cache(maxsize=256)
def _binding_of(family: str, model: str, bindings: tuple[Binding, ...]) -> Binding:
    return next(
        row
        for row in bindings
        if row.family in ("", family) and (not row.models or (model and re.search(row.models, model)))
    )
