"""Show an answer's reasoning only if everything before it is unchanged since its request (I10). One hash decides.

The hash of a request, its *bound*, is a chain of hashes: the tools, then every system and developer text, then all
messages. The texts are in the chain twice, because some providers move them to the front and others do not. An answer
keeps the `bound` of its request in its metadata (`BOUND_KEY`). Its reasoning is shown if the chain of the present view,
up to the answer, has the same value.

- The decision depends on the view and the log alone, so the same view gets the same decision again.
- Leaving reasoning out changes the chain. So the reasoning after it is left out too, until the model reasons again.
- A provider may compact the beginning itself and say that later reasoning stays valid. Then the chain of the replaced
  messages continues beside the view's own chain, as long as the tools and the system text are the same.
- An answer may have text before its reasoning. Then the reasoning is shown only if the answer is shown unaltered.
- A view without a named reader and without a plan is the history, and shows all reasoning (`binds`).
- Each message is hashed once. The next view hashes only its new messages, and its head and tools once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import orjson

from ..messages.message import Message, metadata_of
from ..messages.narration import with_narration
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
)
from .render import common_length
from .unbound_messages import without_bonds

_CACHE_CONTROL = "cache_control"
_MOST_DIGITS = 6
Chains = tuple[bytes, ...]
"""The hash chain of a view at one position, and other chains that are treated as equal to this one."""


def tools_hash(tools_json: str) -> str:
    """Return the hash of the tool definitions, in their order, or "" if there are none."""
    return text_hash(orjson.loads(tools_json)) if tools_json else ""


def sent_hash(message: Message) -> bytes:
    """Return the hash of the form of a message that is sent to a provider.

    Cache marks are left out. The metadata are left out too, except the keys that contain reasoning
    (`recipients.REASONING_NAMES`).
    """
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
    if isinstance(value, list):
        return [_without_cache_control(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True)
class _Hashes:
    """The hashes of one message with and without its reasoning, and facts that decide if the reasoning is shown."""

    shown: bytes
    bare: bytes
    bond: Bond | None
    """The maker of the message's reasoning, or None if the message shows no reasoning."""
    instructs: bool
    as_given: bool
    """Whether the answer is unaltered up to its reasoning."""


class BoundViews:
    """Decides for each view of a window which reasoning it shows, and computes the view's `bound`."""

    def __init__(self) -> None:
        self._given: Sequence[Item] = ()
        self._log_state: object = None
        self._reader = Recipient()
        self._hashes: list[_Hashes] = []
        self._instructing: list[tuple[int, bytes]] = []
        """The positions and hashes of system text."""
        self.chain: list[Chains] = []
        """The chains before each item, and after the last item."""
        self._shown: list[Item] = []
        self._turn = 0
        """Position of the message that began the current turn."""
        self._plans = False
        self._basis: object = None
        """The inputs of the last decision besides the items. If they are the same, earlier decisions still hold."""
        self.unbound: list[int] = []
        """The positions of answers without their reasoning."""

    @property
    def bound(self) -> str:
        """The hash of the whole present view, as an answer stores it in `metadata.bound`; "" before the first view."""
        return self.chain[-1][0].hex() if self.chain else ""

    @property
    def seed(self) -> str:
        """The hash of the tools and the system text of the present view."""
        return self.chain[0][0].hex() if self.chain else ""

    @property
    def left_out(self) -> frozenset[int]:
        """The ordinals of the answers whose reasoning the present view leaves out."""
        entries = (self._given[at].entry for at in self.unbound)
        return frozenset(entry.ordinal for entry in entries if entry is not None)

    @property
    def begins_turn(self) -> bool:
        """Whether the present view ends with a human message, and shows reasoning before this message."""
        return len(self._given) == self._turn + 1 and any(known.bond for known in self._hashes)

    @property
    def shows_running(self) -> bool:
        """Whether the present view shows reasoning of the current turn."""
        unbound = set(self.unbound)
        current_turn = range(self._turn + 1, len(self._hashes))
        return any(at not in unbound and self._hashes[at].bond for at in current_turn)

    def bind(
        self,
        arrangement: Arrangement,
        messages: Callable[[int], Sequence[Message]],
        *,
        log_state: object,
        reader: Recipient,
        tools: str,
        head: Sequence[Message],
        native: NativeItem | None = None,
        binds: bool = True,
        plans: bool = False,
    ) -> Arrangement:
        """Leave out the reasoning whose prefix differs from the prefix that the reasoning was made with.

        Args:
            arrangement: the view with all reasoning that the reader accepts.
            messages: gives the rendered messages of the items, from a position to the end.
            log_state: identifies the log state that the items' ordinals refer to.
            reader: who gets the view.
            tools: the hash of the tools.
            head: system text at the start of the view.
            native: the item that the view may show in place of its older part.
            binds: whether reasoning may be left out at all.
            plans: whether a plan is being made. A plan removes reasoning of earlier turns whose prefix changed. Between
                plans, readers that check no prefix keep all reasoning that they were shown.
        """
        items = arrangement.items
        same = self._hash_new(items, messages, log_state=log_state, reader=reader)
        seed = self._seed_of(tools, head)
        replaced: Chains = ()  # the chains of the messages that the provider's item replaces
        if native is not None and native.seed == seed.hex() and reader.family in ACCEPT_OWN_ITEMS:
            replaced = tuple(bytes.fromhex(chain) for chain in native.stands_for if chain)
        turn = turn_start(items)
        basis = (turn, seed, native, binds, plans)
        unchanged_count = same if basis == self._basis else 0
        self._plans = plans
        self._turn = turn
        self._basis = basis
        self.unbound = [at for at in self.unbound if at < unchanged_count]
        self.chain = self.chain[: unchanged_count + 1] if unchanged_count else [(seed,)]
        shown_items = self._shown[:unchanged_count]
        self._shown = shown_items
        for at in range(unchanged_count, len(items)):
            item = items[at]
            hashes = self._hashes[at]
            digest = hashes.shown
            if binds and hashes.bond is not None and not self._accepts(at, hashes.bond, item.bare, shown_items):
                item = item._replace(bare="all", tokens=item.tokens - _lost_tokens(item), as_stored=False)
                digest = hashes.bare
                self.unbound.append(at)
            shown_items.append(item)
            chains = tuple([_next(chain, digest) for chain in self.chain[at]])
            if native is not None and item.inserted is native.message:
                chains += replaced
            self.chain.append(chains)
        if not self.unbound:
            return arrangement
        return Arrangement(shown_items, sum(map(attrgetter("tokens"), shown_items)))

    def _hash_new(
        self,
        items: Sequence[Item],
        messages: Callable[[int], Sequence[Message]],
        *,
        log_state: object,
        reader: Recipient,
    ) -> int:
        """Hash the items that differ from the last view and return the number of items before these."""
        same = 0
        if log_state is self._log_state and reader == self._reader:
            same = common_length(self._given, items)
        self._given = ()  # if the messages cannot be read
        new = [_hashes(item, message) for item, message in zip(items[same:], messages(same), strict=True)]
        self._hashes[same:] = new
        self._instructing = [(at, digest) for at, digest in self._instructing if at < same]
        self._instructing += [(at, hashes.shown) for at, hashes in enumerate(new, same) if hashes.instructs]
        self._given = items
        self._log_state = log_state
        self._reader = reader
        return same

    def _seed_of(self, tools: str, head: Sequence[Message]) -> bytes:
        """Return the value with which the hash chain begins: the hash of the tools and of all system text."""
        heading = [sent_hash(message) for message in head]
        other_system_text = [digest for _, digest in self._instructing]
        seed = blake2b(bytes(DIGEST_BYTES) + tools.encode(), digest_size=DIGEST_BYTES).digest()
        for digest in heading + other_system_text + heading:
            seed = _next(seed, digest)
        return seed

    def _accepts(self, at: int, bond: Bond, bare: str, before: Sequence[Item]) -> bool:
        """Return whether the reader accepts an answer's reasoning.

        Args:
            at: the answer's position in the view.
            bond: the maker of the reasoning, and the `bound` of the answer's request.
            bare: `Item.bare` of the answer.
            before: the items before the answer.
        """
        checks_prefix = self._reader.checks_prefix
        if checks_prefix and not self._hashes[at].as_given:
            return False
        if at >= self._turn and (not checks_prefix or bond.unsigned or bare == "text"):
            return True
        # A response of several messages: the bound of the first, `+`, and how many messages back the first is.
        request_bound, _, steps_back = bond.request.partition("+")
        if request_bound and not (checks_prefix or self._plans) and self._reader.rules > FIRST_RULES:
            return True
        first = at
        if steps_back.isdecimal() and len(steps_back) < _MOST_DIGITS:
            first -= int(steps_back)
        if not request_bound or first < 0 or not all(map(_is_whole_answer, before[first:at])):
            return False
        return any(request_bound == chain.hex() for chain in self.chain[first])


def _hashes(item: Item, message: Message) -> _Hashes:
    """Hash one message. The hashes `bare` and `shown` are equal if the message shows no reasoning."""
    sent = sent_hash(message)
    instructs = message.get("role") in INSTRUCTING
    entry = item.entry
    if entry is None:
        return _Hashes(sent, sent, None, instructs, as_given=True)
    as_given = not _is_altered(item)
    if not as_given:  # a form that is not plain may have lost blank text between two pieces of reasoning
        as_given = reasons_first(message, once=not entry.form.plain)
    bond = entry.reasoning.bond
    if bond is None or not bond.reasoning or message.get("role") != "assistant" or item.bare == "all":
        return _Hashes(sent, sent, None, instructs, as_given)
    narration = item.narration(message)
    narrated = with_narration(message, narration) if narration else message
    without = without_bonds(narrated, keep_text=False)
    if without == message:
        return _Hashes(sent, sent, None, instructs, as_given)
    return _Hashes(sent, sent_hash(without), bond, instructs, as_given)


def _is_whole_answer(item: Item) -> bool:
    return item.entry is not None and item.entry.role == "assistant" and not _is_altered(item)


def _is_altered(item: Item) -> bool:
    """Return whether the view shows a stored message with different content."""
    entry = item.entry
    if entry is None:
        return False
    if item.cut is not None or item.call_ids:
        return True
    return not entry.form.plain or bool(entry.changes.omits)


def _lost_tokens(item: Item) -> int:
    """Return the number of tokens that an item loses if its thinking is left out; 0 if it shows no thinking."""
    if item.entry is None or item.silent or item.bare == "all":
        return 0
    return item.entry.reasoning.tokens - item.narrates * item.entry.reasoning.narration_tokens


def _next(running: bytes, digest: bytes) -> bytes:
    return blake2b(running + digest, digest_size=DIGEST_BYTES).digest()
