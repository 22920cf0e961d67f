"""Reasoning stays where all before it stands as it stood when it was made (I10): what a request is sent, as one hash.

A request's *bound* is a chain: the tools, every system and developer text in the order of the view (there are providers
that put them first, wherever they stand), then all messages, these texts in their places (others leave them there). An
answer keeps the `bound` of the request that it answers, in its metadata (`BOUND_KEY`). Its reasoning is shown where the
chain of the view at hand, up to it, is that one.

- The rule looks at nothing but the view and what the log holds, so a view that is made again decides alike.
- Reasoning that is left out changes what comes after it: then that is left out too, until the model reasons anew.
- Where a provider compacted the beginning itself and says that reasoning after its item stays valid, the chain of what
  the item stands for goes on beside the view's own, as long as tools and system text are the same.
- Reasoning that comes later in its own answer is shown only where the answer is shown as it was given.
- A view that nobody is named for, and that no plan shortens, shows all of it: it is the history (`binds`).
- Each message is hashed once; a view that goes on costs what is new in it, and head and tools are hashed once a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import orjson

from ..messages.message import Message
from ..messages.metadata import metadata_of
from ..messages.narration import narration_of, with_narration
from .arrangement import Arrangement, Item, turn_start
from .entry import INSTRUCTING
from .plan import NativeItem
from .receipts import DIGEST_BYTES, canonical, text_hash
from .recipients import (
    ACCEPT_OWN_ITEMS,
    FIRST_RULES,
    REASONING_NAMES,
    Bond,
    Recipient,
    only_names,
    reasons_first,
    without_bonds,
)
from .render import common_length

_CACHE_CONTROL = "cache_control"
_MOST_DIGITS = 6
Chains = tuple[bytes, ...]
"""The chain of a view at a place, and those that stand for it."""


def tools_hash(tools_json: str) -> str:
    """The hash of the definitions of tools, in their order; empty where there are none."""
    return text_hash(orjson.loads(tools_json)) if tools_json else ""


def sent_hash(message: Message) -> bytes:
    """The hash of what is sent of a message: of its metadata what is bound alone, and no marks of what to cache."""
    sent = {key: value for key, value in message.items() if key != "metadata"}
    if bound := only_names(metadata_of(message), REASONING_NAMES):  # ids of responses are no content
        sent["metadata"] = bound
    encoded = canonical(sent)
    if _CACHE_CONTROL.encode() in encoded:
        encoded = canonical(_without_cache_control(sent))
    return blake2b(encoded, digest_size=DIGEST_BYTES).digest()


def _without_cache_control(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_cache_control(inner) for key, inner in value.items() if key != _CACHE_CONTROL}
    return [_without_cache_control(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class _Hashes:
    """Of one message: as it is shown, and without its reasoning; and whether it is system text."""

    shown: bytes
    bare: bytes
    bond: Bond | None
    """Who made its reasoning; None where it shows none."""
    instructs: bool
    as_given: bool
    """Whether all before its reasoning stands in it as its model gave it."""


class BoundViews:
    """The views of one window, one after the other: which reasoning each shows, and its `bound`."""

    def __init__(self) -> None:
        self._given: Sequence[Item] = ()
        self._of: object = None
        self._reader = Recipient()
        self._hashes: list[_Hashes] = []
        self._instructing: list[tuple[int, bytes]] = []
        """The positions and hashes of system text."""
        self.chain: list[Chains] = []
        """Before each item, and after the last one."""
        self._shown: list[Item] = []
        self._turn = 0
        """Where the running tool loop began."""
        self._plans = False
        self._basis: object = None
        """What decides of a view's reasoning besides its items: where they are alike, what was decided holds."""
        self.unbound: list[int] = []
        """The positions of answers without their reasoning."""

    @property
    def bound(self) -> str:
        """The `bound` of the view at hand."""
        return self.chain[-1][0].hex() if self.chain else ""

    @property
    def seed(self) -> str:
        """The hash of tools and system text of the view at hand."""
        return self.chain[0][0].hex() if self.chain else ""

    @property
    def left_out(self) -> frozenset[int]:
        """The ordinals of answers without their reasoning."""
        entries = (self._given[at].entry for at in self.unbound)
        return frozenset(entry.ordinal for entry in entries if entry is not None)

    @property
    def begins_turn(self) -> bool:
        """Whether the view at hand ends with a person's message, and has answers with reasoning."""
        return len(self._given) == self._turn + 1 and any(known.bond for known in self._hashes)

    @property
    def shows_running(self) -> bool:
        """Whether the view at hand shows reasoning of the running tool loop."""
        bared, running = set(self.unbound), range(self._turn + 1, len(self._hashes))
        return any(at not in bared and self._hashes[at].bond for at in running)

    def bind(
        self,
        arrangement: Arrangement,
        messages: Callable[[int], Sequence[Message]],
        *,
        of: object,
        reader: Recipient,
        tools: str,
        head: Sequence[Message],
        native: NativeItem | None = None,
        binds: bool = True,
        plans: bool = False,
    ) -> Arrangement:
        """Leave the reasoning out of a view that does not stand as it was made.

        Args:
            arrangement: the view with all reasoning that the reader takes.
            messages: gives what its items are rendered to, from a position on.
            of: what the items' ordinals belong to.
            reader: who gets the view.
            tools: the hash of the tools.
            head: system text that heads the view.
            native: the item that the view may show in place of its older part.
            binds: whether anything is left out.
            plans: whether a plan is being made: reasoning of earlier turns whose prefix changed goes with it. Between
                plans readers that check no prefix keep all that they were shown.
        """
        items = arrangement.items
        same = common_length(self._given, items) if of is self._of and reader == self._reader else 0
        self._given = ()  # if the messages cannot be read
        self._hashes[same:] = [
            _hashes(item, message) for item, message in zip(items[same:], messages(same), strict=True)
        ]
        new = enumerate(self._hashes[same:], same)
        self._instructing = [known for known in self._instructing if known[0] < same]
        self._instructing += [(at, known.shown) for at, known in new if known.instructs]
        self._given, self._of, self._reader = items, of, reader
        seed = self._seed_of(tools, head)
        beside: Chains = ()
        if native is not None and native.seed == seed.hex() and reader.family in ACCEPT_OWN_ITEMS:
            beside = tuple(bytes.fromhex(chain) for chain in native.stands_for if chain)
        basis = turn_start(items), seed, native, binds, plans
        self._plans = plans
        decided = same if basis == self._basis else 0
        self._turn, self._basis = basis[0], basis
        self.unbound = [at for at in self.unbound if at < decided]
        self.chain = self.chain[: decided + 1] if decided else [(seed,)]
        self._shown = shown = self._shown[:decided]
        for at in range(decided, len(items)):
            item, known = items[at], self._hashes[at]
            digest = known.shown
            if binds and known.bond is not None and not self._stands(at, known.bond, item.bare, shown):
                item = item._replace(bare="all", tokens=item.tokens - _lost_tokens(item), as_stored=False)
                digest = known.bare
                self.unbound.append(at)
            shown.append(item)
            chains = tuple([_next(chain, digest) for chain in self.chain[at]])
            self.chain.append(chains + beside if native is not None and item.inserted is native.message else chains)
        return Arrangement(shown, sum(map(attrgetter("tokens"), shown))) if self.unbound else arrangement

    def _seed_of(self, tools: str, head: Sequence[Message]) -> bytes:
        """The chain before the first item: the tools, all system text in its order, and what heads the view."""
        heading = [sent_hash(message) for message in head]
        seed = blake2b(bytes(DIGEST_BYTES) + tools.encode(), digest_size=DIGEST_BYTES).digest()
        for digest in (*heading, *(digest for _, digest in self._instructing), *heading):
            seed = _next(seed, digest)
        return seed

    def _stands(self, at: int, bond: Bond, bare: str, before: Sequence[Item]) -> bool:
        """Whether an answer's reasoning is shown: its reader takes it where it stands, after these items."""
        checks_prefix = self._reader.checks_prefix
        if checks_prefix and not self._hashes[at].as_given:
            return False
        if at >= self._turn and (not checks_prefix or bond.unsigned or bare == "text"):
            return True
        request, _, back = bond.request.partition(
            "+"
        )  # of a response of several messages, what stands before the first
        if request and not (checks_prefix or self._plans) and self._reader.rules > FIRST_RULES:
            return True
        first = at - int(back) if back.isdecimal() and len(back) < _MOST_DIGITS else at
        if not request or first < 0 or not all(map(_is_whole_answer, before[first:at])):
            return False
        return any(request == chain.hex() for chain in self.chain[first])


def _hashes(item: Item, message: Message) -> _Hashes:
    shown = bare = sent_hash(message)
    bond = item.entry.reasoning.bond if item.entry is not None else None
    if bond is not None and bond.reasoning and message.get("role") == "assistant" and item.bare != "all":
        narration = narration_of(message, item.entry.id) if item.entry is not None and item.narrates else ""
        without = without_bonds(with_narration(message, narration) if narration else message, keep_text=False)
        bare = bytes(sent_hash(without)) if without != message else shown
    as_given = not _is_altered(item) or (
        item.entry is not None
        and reasons_first(message, once=not item.entry.form.plain)  # blank text may be gone between
    )
    return _Hashes(shown, bare, bond if bare is not shown else None, message.get("role") in INSTRUCTING, as_given)


def _is_whole_answer(item: Item) -> bool:
    return item.entry is not None and item.entry.role == "assistant" and not _is_altered(item)


def _is_altered(item: Item) -> bool:
    """Whether a stored message is shown with other content than it has."""
    entry = item.entry
    return entry is not None and (
        item.cut is not None or item.call_ids != () or not entry.form.plain or bool(entry.changes.omits)
    )


def _lost_tokens(item: Item) -> int:
    """The tokens that an item loses with its thinking, unless that is left out already."""
    if item.entry is None or item.silent or item.bare == "all":
        return 0
    return item.entry.reasoning.tokens - item.narrates * item.entry.reasoning.narration_tokens


def _next(running: bytes, digest: bytes) -> bytes:
    return blake2b(running + digest, digest_size=DIGEST_BYTES).digest()
