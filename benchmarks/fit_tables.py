"""Fit the tables of a network that tells at each byte how likely a token begins there (see `estimate.py`).

The loss is the weighted squared difference between that likelihood and what the vocabulary makes of the text. A table's
label of one entry is chosen with all else held: one histogram over all bytes gives the loss that each of the 16 labels
would bring to each of the 256 entries. All entries change at once, first with noise that fades (so that the labels do
not settle on the first arrangement that is stable), at last only as far as the loss really falls. A deep network is
grown: two layers from random labels, then another layer that starts with what the ones before it already say.

Every step is seeded; the same texts give the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

LABELS, ENTRIES = 16, 256
FIRST, SECOND = True, False


@dataclass(frozen=True, slots=True)
class Positions:
    """Every byte of the texts, whether a token begins there, its weight, and the text's number (-1 between texts)."""

    read: Bytes
    begins: Bytes
    weight: Floats
    text: npt.NDArray[np.int32]


@dataclass(slots=True)
class Tables:
    """The tables of a network but the last, the distances of the pairs, and how far before a byte it looks."""

    distances: tuple[int, ...]
    before: int
    layers: list[Bytes] = field(default_factory=list)

    def labels(self, read: Bytes) -> tuple[list[Bytes], list[Bytes]]:
        """Return what each layer reads, the last table included, and the labels that it gives."""
        reads, labels = [read], []
        for table, distance in zip(self.layers, self.distances, strict=True):
            labels.append(table[reads[-1]])
            reads.append((labels[-1] & 0xF0) | _ahead(labels[-1] & 0x0F, distance))
        return reads, labels

    def states(self, read: Bytes) -> Bytes:
        """Return the index into the last table for each byte in question."""
        last = self.labels(read)[0][-1]
        return np.concatenate([np.zeros(self.before, np.uint8), last[: len(last) - self.before]])


def _ahead(row: npt.NDArray, distance: int) -> npt.NDArray:  # type: ignore[type-arg]
    return row if not distance else np.concatenate([row[distance:], np.repeat(row[-1:], distance)])


class Fit:
    """A network that is being fitted to positions."""

    def __init__(self, tables: Tables, positions: Positions, seed: int) -> None:
        self.tables = tables
        self.read = positions.read
        self.weight = _ahead(positions.weight, tables.before)
        self.begun = self.weight * _ahead(positions.begins, tables.before)
        self.random = np.random.RandomState(seed)

    def last_table(self, states: Bytes) -> tuple[Floats, float]:
        """Return the likelihoods that fit best, and the loss but for a constant."""
        weight = np.bincount(states, self.weight, ENTRIES)
        begun = np.bincount(states, self.begun, ENTRIES)
        return (begun + 1e-8) / (weight + 4e-8), -float((begun**2 / np.maximum(weight, 1e-12)).sum())

    def loss(self) -> float:
        """Return the loss but for a constant; lower is better."""
        return self.last_table(self.tables.labels(self.read)[0][-1])[1]

    def scores(self, layer: int, *, first: bool) -> Floats:
        """Return what each label, as a pair's first or second, would change in the loss, for each entry of a table."""
        reads, labels = self.tables.labels(self.read)
        likely, _ = self.last_table(reads[-1])
        scores = np.zeros((ENTRIES, LABELS))
        depth = len(self.tables.layers)
        for sides in _paths(first, depth - layer):
            partners, at = [], 0
            for level in range(depth - 1, layer - 1, -1):  # from the last pair down to the label in question
                if sides[level - layer] == FIRST:
                    partners.append(_ahead(labels[level] & 0x0F, at + self.tables.distances[level]))
                else:
                    partners.append(_ahead(labels[level] >> 4, at))
                    at += self.tables.distances[level]
            context = np.zeros(len(self.read), np.int32)
            said = np.arange(LABELS).reshape(LABELS, 1)
            for level, partner in enumerate(reversed(partners), layer):
                context = context * LABELS + partner
                other = np.arange(LABELS).reshape(1, 1, LABELS)
                own = said.reshape(LABELS, -1, 1).astype(np.int64)
                pair = own * LABELS + other if sides[level - layer] == FIRST else other * LABELS + own
                pair = pair.reshape(LABELS, -1)
                if level + 1 < depth:
                    table = self.tables.layers[level + 1][pair]
                    said = table >> 4 if sides[level + 1 - layer] == FIRST else table & 0x0F
            contexts = LABELS ** len(partners)
            cell = _ahead(reads[layer], at).astype(np.int32) * contexts + context
            weight = np.bincount(cell, self.weight, ENTRIES * contexts).reshape(ENTRIES, contexts)
            begun = np.bincount(cell, self.begun, ENTRIES * contexts).reshape(ENTRIES, contexts)
            scores += weight @ (likely[pair] ** 2).T - 2 * begun @ likely[pair].T
        now = self.tables.layers[layer] >> 4 if first else self.tables.layers[layer] & 0x0F
        return scores - scores[np.arange(ENTRIES), now][:, None]

    def anneal(self, layers: Sequence[int], rounds: int, start: float, end: float = 1e-7) -> None:
        """Choose labels under noise that fades from `start` to `end`, for a random half of the entries at a time."""
        for noise in np.geomspace(start, end, rounds):
            for layer in layers:
                for first in (FIRST, SECOND):
                    scores = self.scores(layer, first=first)
                    chosen = (scores + noise * self.random.gumbel(size=scores.shape)).argmin(1)
                    self._set(layer, np.flatnonzero(self.random.rand(ENTRIES) < 0.5), chosen, first=first)

    def polish(self, layers: Sequence[int], rounds: int) -> float:
        """Choose labels as long as the loss falls, and return it."""
        before = 0.0
        for _ in range(rounds):
            for layer in layers:
                for first in (FIRST, SECOND):
                    loss = self._improve(layer, first=first)
            if before - loss < 2e-6:
                break
            before = loss
        return loss

    def _improve(self, layer: int, *, first: bool) -> float:
        loss, kept, scores = self.loss(), self.tables.layers[layer], self.scores(layer, first=first)
        chosen, gains = scores.argmin(1), -scores.min(1)
        entries = np.argsort(-gains)[: int((gains > 1e-12).sum())]
        while len(entries):
            self.tables.layers[layer] = kept.copy()
            self._set(layer, entries, chosen, first=first)
            if (better := self.loss()) < loss:
                return better
            entries = entries[: len(entries) // 2]  # changes that help alone may harm together
        self.tables.layers[layer] = kept
        return loss

    def _set(self, layer: int, entries: npt.NDArray, chosen: npt.NDArray, *, first: bool) -> None:  # type: ignore[type-arg]
        table, labels = self.tables.layers[layer], chosen[entries].astype(np.uint8)
        table[entries] = (table[entries] & 0x0F) | labels << 4 if first else (table[entries] & 0xF0) | labels

    def grown(self, distance: int, *, first: bool, seed: int) -> Tables:
        """Return the tables with a layer more, whose label as first (or second) of a pair is what was likely so far."""
        states = self.tables.labels(self.read)[0][-1]
        likely, _ = self.last_table(states)
        weight = np.bincount(states, self.weight, ENTRIES)
        order = np.argsort(likely)
        sixteenths = np.empty(ENTRIES, np.uint8)
        sixteenths[order] = np.minimum(LABELS - 1, np.cumsum(weight[order]) / weight.sum() * LABELS)
        other = np.random.RandomState(seed).randint(0, LABELS, ENTRIES).astype(np.uint8)
        layer = sixteenths << 4 | other if first else other << 4 | sixteenths
        before = self.tables.before + (0 if first else distance)
        return Tables((*self.tables.distances, distance), before, [*(t.copy() for t in self.tables.layers), layer])


def _paths(first: bool, layers: int) -> Iterator[list[bool]]:  # noqa: FBT001 (one of FIRST and SECOND)
    if layers == 1:
        yield [first]
        return
    for side in (FIRST, SECOND):
        yield from ([first, *rest] for rest in _paths(side, layers - 1))


def fit_tables(positions: Positions, growth: Sequence[tuple[int, bool]]) -> Tables:
    """Fit tables to positions.

    Args:
        positions: The bytes and where tokens begin.
        growth: For each layer after the first two its distance, and whether what was said so far comes first in a pair.
    """
    fits = []
    for seed in range(4):
        random = np.random.RandomState(seed)
        layers = [random.randint(0, ENTRIES, ENTRIES).astype(np.uint8) for _ in range(2)]
        fit = Fit(Tables((1, 2), 2, layers), positions, seed)
        fit.anneal((1, 0), 45, 5e-5)
        fits.append((fit.polish((1, 0), 10), seed, fit))
        print(f"loss {fits[-1][0]:.5f} of two layers", flush=True)
    loss, _, fit = min(fits)
    for depth, (distance, first) in enumerate(growth, 2):
        fit = Fit(fit.grown(distance, first=first, seed=0), positions, depth)
        fit.polish((depth,), 6)
        fit.anneal((depth, depth - 1), 12, 3e-6)
        loss = fit.polish((depth, depth - 1, depth - 2) if depth < 3 else (depth, depth - 1), 6)
    every = range(len(fit.tables.layers) - 1, 0, -1)
    fit.anneal(every, 12, 1e-5)
    loss = fit.polish((*every, 0), 3)
    print(f"loss {loss:.5f} with distances {fit.tables.distances}", flush=True)
    return fit.tables
