"""Measure the counters: error and speed by class of text, against `len // 4`.

    python -m benchmarks.tokens [--packages DIRECTORY] [--transcripts DIRECTORY] [--json FILE]

The texts are those that `corpus.py` holds out of the fit, as far as this machine has them, and with `--transcripts` the
texts of session files in Amplifier's message shape. The error is that of a class's total against `o200k_base`; after
it, for texts of 2 kB and more, the median and the 95th percentile of single texts' errors, whatever their sign. Where
no vocabulary is at hand, only speeds are printed: of processor time, the best of three, each text counted alone, and
again in messages of 2,000 characters. Runs offline.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator

from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message, open_counter
from benchmarks.corpus import corpus

CLASS_CHARS = 1_000_000
MESSAGE_CHARS = 2_000
LONG_BYTES = 2_000
COLUMNS = (
    ("error_percent", "+.1f", 8),
    ("median_percent", ".1f", 8),
    ("p95_percent", ".1f", 7),
    ("mb_per_s", ".0f", 7),
    ("messages_mb_per_s", ".0f", 6),
)
NAMES = {
    "zh": "chinese",
    "zh-traditional": "chinese",
    "ja": "japanese",
    "ko": "korean",
    "ar": "arabic",
    "ru": "russian",
}


def held_out(packages: str, transcripts: str) -> dict[str, list[str]]:
    """Collect the texts of each class, at most a million characters of it."""
    texts: dict[str, list[str]] = {}
    for kind, found in corpus(packages).items():
        held, chars = [], 0
        for _, text, out in random.Random(0).sample(found, len(found)):
            if out and chars < CLASS_CHARS:
                held.append(text)
                chars += len(text)
        language = kind.removesuffix("-running")
        if held:
            texts.setdefault(NAMES.get(language, language), []).extend(held)
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


def speed(count: Callable[[str], int], texts: list[str]) -> float:
    """Return megabytes of UTF-8 counted in a second of processor time, the best of three."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for text in texts:
            count(text)
        best = min(best, time.process_time() - start)
    return size / 1e6 / max(best, 1e-9)


def messages(texts: list[str]) -> list[str]:
    """Cut texts into messages of 2,000 characters, at most a million characters of them, and drop shorter ends."""
    cut = [text[at : at + MESSAGE_CHARS] for text in texts for at in range(0, len(text), MESSAGE_CHARS)]
    return [text for text in cut if len(text) == MESSAGE_CHARS][: CLASS_CHARS // MESSAGE_CHARS]


def errors(counts: list[int], true: list[int], texts: list[str]) -> dict[str, float]:
    """Return the error of the sum in percent, and median and 95th percentile of single texts' errors without sign."""
    found = {"error_percent": 100 * sum(counts) / sum(true) - 100}
    long = (index for index, text in enumerate(texts) if len(text.encode("utf-8", "replace")) >= LONG_BYTES)
    single = sorted(abs(100 * counts[index] / true[index] - 100) for index in long)
    if single:
        found["median_percent"] = statistics.median(single)
        found["p95_percent"] = single[min(len(single) - 1, round(0.95 * len(single)))]
    return found


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
    parser.add_argument("--packages", default="", help="a directory of unpacked source archives, see corpus.py")
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
    head = f"{'error':>8}{'median':>8}{'95 %':>7}{'MB/s':>7}{'2 kB':>6}"
    print(f"\n{'':30}" + "".join(f" | {name:>34}" for name in counters))
    print(f"{'class':18}{'characters':>12}" + f" | {head}" * len(counters))
    for kind, held in sorted(texts.items()):
        exact_counts = list(map(exact.count_text, held)) if exact.name != "estimate" else []
        row: dict[str, object] = {"class": kind, "characters": sum(map(len, held)), "true_tokens": sum(exact_counts)}
        cells = ""
        for name, count in counters.items():
            found = errors(list(map(count, held)), exact_counts, held) if exact_counts else {}
            found["mb_per_s"] = speed(count, held)
            if cut := messages(held):
                found["messages_mb_per_s"] = speed(count, cut)
            row[name] = found
            cells += " | " + "".join(
                f"{f'{found[key]:{form}}' if key in found else '':>{width}}" for key, form, width in COLUMNS
            )
        rows.append(row)
        print(f"{kind:18}{row['characters']:>12}{cells}")
    sample = "\n".join(texts.get("python", ["x = 1\n" * 1000]))
    message = {"role": "tool", "tool_call_id": "call_1", "name": "read", "content": sample[:2000]}
    speeds: dict[str, float] = {}
    for name, counter in (("estimate", EstimateCounter()), (exact.name, exact)):
        speeds[f"{name}_message_us"] = latency_us(lambda counter=counter: count_message(message, counter))
        speeds[f"{name}_megabyte_mb_per_s"] = speed(counter.count_text, [(sample * 50)[:1_000_000]])
    print("\n" + "\n".join(f"{name}: {value:.1f}" for name, value in speeds.items()))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"classes": rows, "load_ms": load_ms, **speeds}, file, indent=1)
    else:
        print(json.dumps({"load_ms": round(load_ms), **{name: round(value, 1) for name, value in speeds.items()}}))


if __name__ == "__main__":
    main()
