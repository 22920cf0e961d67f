"""Fit the tables of the token estimate, and write `amplifier_module_context_persistent/tokens/_estimate_tables.py`.

    python -m benchmarks.fit_tokens [--packages DIRECTORY] [--write]

Needed: the exact counts (the extra `exact`), numpy and scipy. Nothing is downloaded, and everything is seeded. The
texts and their origin: `corpus.py`. The fit has two parts: the labels, from every byte of a sample of the texts
(`fit_tables.py`); then the last tables anew, from whole texts, by bounded least squares on their relative errors and
those of the classes, with a penalty on the distance from what single bytes say. Errors are printed for the texts that
were held out. It takes some ten minutes.
"""

from __future__ import annotations

import argparse
import textwrap
from base64 import b64encode
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate

import numpy as np
from scipy.optimize import lsq_linear

from amplifier_module_context_persistent.tokens import estimate
from amplifier_module_context_persistent.tokens.counter import TiktokenCounter, open_counter
from benchmarks.corpus import WEIGHTS, Text, corpus
from benchmarks.fit_tables import FIRST, SECOND, Bytes, Floats, Positions, Tables, fit_tables

ASCII_GROWTH = ((3, SECOND), (1, FIRST))
OTHER_GROWTH = ((3, SECOND), (2, FIRST))
LABELS_SAMPLE, LAST_SAMPLE = (90_000, 200), (600_000, 100)
"""Bytes and texts of a class, at most, to which labels and last tables are fitted; of lesser classes a quarter of the
bytes."""
IMPORTANT = 0.6
PENALTY = 1.0
CLASS_WEIGHT = 0.5
GAP = 8


def positions(
    texts: dict[str, list[Text]], counter: TiktokenCounter, sample: tuple[int, int]
) -> tuple[Positions, list[str]]:
    """Lay the texts that are not held out end to end, and return with them the class of each."""
    read, begins, weight, numbers, kinds = [], [], [], [], []
    random = np.random.RandomState(1)
    for kind, found in texts.items():
        parts = [(text.encode("utf-8", "replace"), text) for _, text, held in found if not held]
        random.shuffle(parts)
        parts = parts[: sample[1]]
        wanted = sample[0] if WEIGHTS[kind] >= IMPORTANT else sample[0] // 4
        share = min(1.0, wanted / max(1, sum(len(part) for part, _ in parts)))
        marks = []
        for encoded, text in parts:
            length = max(int(len(encoded) * share), min(len(encoded), 300))
            at = random.randint(0, len(encoded) - length + 1)
            starts = token_starts(counter, text, len(encoded))[at : at + length]
            marks.append((np.frombuffer(encoded, np.uint8)[at : at + length], starts))
        tokens = sum(int(starts.sum()) for _, starts in marks)
        for encoded_part, starts in marks:
            gap, length = np.zeros(GAP), len(starts)
            read += [np.full(GAP, ord(estimate._EDGE), np.uint8), encoded_part]
            begins += [gap.astype(np.uint8), starts]
            weight += [gap, np.full(length, WEIGHTS[kind] / tokens)]
            numbers += [gap.astype(np.int32) - 1, np.full(length, len(kinds), np.int32)]
            kinds.append(kind)
    weights = np.concatenate(weight)
    laid = Positions(np.concatenate(read), np.concatenate(begins), weights / weights.sum(), np.concatenate(numbers))
    return laid, kinds


def token_starts(counter: TiktokenCounter, text: str, length: int) -> Bytes:
    """Return 1 for each byte of a text at which a token begins, else 0."""
    encoding = counter.encoding
    tokens = encoding.encode_ordinary(text.encode("utf-8", "replace").decode())
    ends = accumulate(len(encoding.decode_single_token_bytes(token)) for token in tokens)
    starts = np.zeros(length + 1, np.uint8)
    starts[[0, *ends]] = 1
    return starts[:-1]


def ascii_view(laid: Positions) -> Positions:
    """Return what the network for ASCII sees: no continuation bytes, and only tokens that begin at ASCII."""
    kept = (laid.read < 0x80) | (laid.read >= 0xC0)
    begins = laid.begins & (laid.read < 0x80)
    return Positions(laid.read[kept], begins[kept], laid.weight[kept], laid.text[kept])


def other_view(laid: Positions, texts: int) -> Positions:
    """Return what the other network sees: no texts of ASCII alone; only bytes that are not ASCII are in question."""
    other = laid.read >= 0x80
    kept = (laid.text < 0) | (np.bincount(laid.text[other], minlength=texts) > 0)[laid.text]
    weight, text = np.where(other, laid.weight, 0), np.where(other, laid.text, -1)
    return Positions(laid.read[kept], (laid.begins & other)[kept], weight[kept], text[kept])


def free_the_zero(tables: Tables, view: Positions) -> None:
    """Swap labels so that state 0, which stands for bytes that are not in question, is the rarest of the others."""
    rarest = int(np.bincount(tables.states(view.read), view.weight, 256).argmin())
    first, second = tables.layers[-1] >> 4, tables.layers[-1] & 0x0F
    first, second = _swapped(first, rarest >> 4), _swapped(second, rarest & 0x0F)
    tables.layers[-1] = first << 4 | second


def _swapped(labels: Bytes, label: int) -> Bytes:
    return np.where(labels == label, 0, np.where(labels == 0, label, labels)).astype(np.uint8)


def last_tables(views: list[tuple[Tables, Positions]], kinds: list[str]) -> list[Bytes]:
    """Return the last table of each network in hundredths, fitted to whole texts together."""
    counts, said, seen = [], [], []
    tokens = np.zeros(len(kinds))
    for tables, view in views:
        states, inside = tables.states(view.read), view.text >= 0
        cell = view.text[inside].astype(np.int64) * 256 + states[inside]
        counts.append(np.bincount(cell, minlength=len(kinds) * 256).reshape(len(kinds), 256).astype(float))
        weight = np.bincount(states, view.weight, 256)
        said.append(np.bincount(states, view.weight * view.begins, 256) / np.maximum(weight, 1e-12))
        seen.append(weight / weight.sum())
        tokens += np.bincount(view.text[inside], view.begins[inside], len(kinds))
    rows, goals, weights = [], [], []
    all_counts = np.hstack(counts)
    for kind in dict.fromkeys(kinds):
        of = [number for number, name in enumerate(kinds) if name == kind]
        scale = np.minimum(1, tokens[of] / 500)
        rows += [all_counts[of] / tokens[of, None], all_counts[of].sum(0, keepdims=True) / tokens[of].sum()]
        weights += [WEIGHTS[kind] * scale / len(of), np.array([WEIGHTS[kind] * CLASS_WEIGHT])]
        goals.append(np.ones(len(of) + 1))
    solved = _solve(np.vstack(rows), np.concatenate(goals), np.concatenate(weights), np.hstack(said), np.hstack(seen))
    return [np.rint(100 * part).astype(np.uint8) for part in np.split(solved, len(views))]


def _solve(rows: Floats, goals: Floats, weights: Floats, said: Floats, seen: Floats) -> Floats:
    left = rows.T @ (rows * weights[:, None]) + np.diag(PENALTY * (seen / seen.sum() + 1e-4))
    right = rows.T @ (weights * (goals - rows @ said))
    root = np.linalg.cholesky(left)
    bounds = (-said - 1e-9, 1 - said + 1e-9)
    return np.asarray(said + lsq_linear(root.T, np.linalg.solve(root, right), bounds).x)


def tables_module(networks: dict[str, tuple[Tables, Bytes]]) -> str:
    """Return the source of `_estimate_tables`."""
    source = '"""The tables of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""\n\n'
    source += "from typing import Final\n"
    for name, (tables, last) in networks.items():
        source += f"\n{name}: Final = (\n    (\n"
        for table in (*tables.layers, last):
            lines = textwrap.wrap(b64encode(table.tobytes()).decode(), 104)
            source += "".join(f'        "{line}"\n' for line in lines[:-1]) + f'        "{lines[-1]}",\n'
        source += f"    ),\n    {tables.distances},\n    {tables.before},\n)\n"
        source += '"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""\n'
    return source


def main() -> None:
    """Fit, print the errors on what was held out, and write the module or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="", help="a directory of unpacked source archives")
    parser.add_argument("--write", action="store_true", help="write the module; else it is printed")
    options = parser.parse_args()
    counter = open_counter("o200k_base")
    if not isinstance(counter, TiktokenCounter):
        raise SystemExit("the fit needs exact counts: install the extra `exact`")
    texts = {kind: found for kind, found in corpus(options.packages).items() if any(not held for *_, held in found)}
    sample, kinds = positions(texts, counter, LABELS_SAMPLE)
    views = ascii_view(sample), other_view(sample, len(kinds))
    with ProcessPoolExecutor(2) as pool:
        ascii_tables, other_tables = pool.map(fit_tables, views, (ASCII_GROWTH, OTHER_GROWTH))
    free_the_zero(other_tables, views[1])
    laid, kinds = positions(texts, counter, LAST_SAMPLE)
    ascii_last, other_last = last_tables(
        [(ascii_tables, ascii_view(laid)), (other_tables, other_view(laid, len(kinds)))], kinds
    )
    other_last[0] = 0
    source = tables_module({"ASCII": (ascii_tables, ascii_last), "OTHER": (other_tables, other_last)})
    scope: dict[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {}
    exec(source, scope)
    estimate._ASCII, estimate._OTHER = (
        estimate._network(*scope["ASCII"]),
        estimate._network(*scope["OTHER"], estimate._OTHER.asked),
    )
    for kind in texts:
        held = [text for _, text, out in texts[kind] if out]
        true, guess = (sum(map(count, held)) for count in (counter.count_text, estimate.estimate_tokens))
        if held:
            print(f"{kind:13} {true:9} tokens held out, error {100 * guess / max(1, true) - 100:+.1f} %")
    if options.write:
        with open(estimate.__file__.replace("estimate.py", "_estimate_tables.py"), "w", encoding="utf-8") as file:
            file.write(source)
    else:
        print(source)


if __name__ == "__main__":
    main()
