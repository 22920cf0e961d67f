"""Measure the counters: error and speed by class of text, against `len // 4`.

    python -m benchmarks.tokens [--packages DIRECTORY] [--transcripts DIRECTORY] [--json FILE]

The texts are those that `fit_tokens.py` holds out of the fit, as far as this machine has them, and with
`--transcripts` the texts of session files in Amplifier's message shape. The error is that of a class's total against
`o200k_base`; where no vocabulary of it is at hand, only speeds are printed. Runs offline.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator

from amplifier_module_context_persistent.tokens import EstimateCounter, count_message, open_counter
from benchmarks import fit_tokens

CLASS_CHARS = 1_000_000
NAMES = {"zh": "chinese", "ja": "japanese", "ko": "korean", "ar": "arabic", "ru": "russian"}


def held_out(packages: str, transcripts: str) -> dict[str, list[str]]:
    """Collect the texts of each class, at most a million characters of it."""
    texts: dict[str, list[str]] = {}
    for kind, found in fit_tokens.corpus(packages).items():
        held, chars = [], 0
        for _, text, out in found:
            if out and chars < CLASS_CHARS:
                held.append(text)
                chars += len(text)
        if held:
            texts[NAMES.get(kind, kind)] = held
    for path in sorted(glob.glob(os.path.join(transcripts, "*.jsonl"))) if transcripts else []:
        with open(path, encoding="utf-8") as file:
            for line in file:
                for kind, text in _message_texts(json.loads(line)):
                    texts.setdefault(f"session {kind}", []).append(text)
    return texts


def _message_texts(message: dict[str, object]) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if isinstance(content, str):
        yield str(message.get("role")), content
    for block in content if isinstance(content, list) else ():
        for key in ("text", "thinking"):
            if isinstance(block.get(key), str):
                yield key, block[key]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield "arguments", json.dumps(call.get("arguments"))


def measure(count: Callable[[str], int], texts: list[str]) -> tuple[int, float]:
    """Return the total count, and megabytes a second, the best of three."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    best = float("inf")
    total = 0
    for _ in range(3):
        start = time.perf_counter()
        total = sum(map(count, texts))
        best = min(best, time.perf_counter() - start)
    return total, size / 1e6 / best


def latency_us(call: Callable[[], object]) -> float:
    """Return the median of 2,000 calls, in microseconds."""
    times = []
    for _ in range(2000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="", help="a directory of unpacked source archives, see fit_tokens.py")
    parser.add_argument("--transcripts", default="", help="a directory of session files (*.jsonl)")
    parser.add_argument("--json", default="", help="where to write the figures")
    options = parser.parse_args()
    start = time.perf_counter()
    exact = open_counter("auto")
    load_ms = (time.perf_counter() - start) * 1000
    counters: dict[str, Callable[[str], int]] = {"len//4": lambda text: len(text) // 4}
    counters["estimate"] = EstimateCounter().count_text
    if exact.name != "estimate":
        counters[exact.name] = exact.count_text
        print(f"{exact.name}: loaded in {load_ms:.0f} ms")
    else:
        print("no vocabulary of o200k_base on this machine: speeds only (the extra `exact` installs one)")
    texts = held_out(options.packages, options.transcripts)
    rows = []
    print(f"\n{'class':18}{'characters':>12}" + "".join(f"{name:>22}" for name in counters))
    for kind, held in sorted(texts.items()):
        true = sum(map(exact.count_text, held)) if exact.name != "estimate" else 0
        row: dict[str, object] = {"class": kind, "characters": sum(map(len, held)), "true_tokens": true or None}
        cells = ""
        for name, count in counters.items():
            total, speed = measure(count, held)
            error = 100 * total / true - 100 if true else None
            row[name] = {"tokens": total, "error_percent": error, "mb_per_s": speed}
            cells += f"{'' if error is None else f'{error:+.1f} %':>10}{speed:>7.0f} MB/s"
        rows.append(row)
        print(f"{kind:18}{row['characters']:>12}{cells}")
    sample = "\n".join(texts.get("python", ["x = 1\n" * 1000]))
    message = {"role": "tool", "tool_call_id": "call_1", "name": "read", "content": sample[:2000]}
    speeds: dict[str, float] = {}
    for name, counter in (("estimate", EstimateCounter()), (exact.name, exact)):
        speeds[f"{name}_message_us"] = latency_us(lambda counter=counter: count_message(message, counter))
        speeds[f"{name}_megabyte_mb_per_s"] = measure(counter.count_text, [(sample * 50)[:1_000_000]])[1]
    print("\n" + "\n".join(f"{name}: {value:.1f}" for name, value in speeds.items()))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"classes": rows, "load_ms": load_ms, **speeds}, file, indent=1)
    else:
        print(json.dumps({"load_ms": round(load_ms), **{name: round(value, 1) for name, value in speeds.items()}}))


if __name__ == "__main__":
    main()
