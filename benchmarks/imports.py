"""Importing a session against parsing it: `python -m benchmarks.imports [FILE ...]`.

Without files, a session of pi is generated. Processor time of the import is compared with that of `json.loads` of every
line, both in turn, by the medians; peak memory is that of a process that only imports. A promise that is missed is
said, and ends it with 1.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from amplifier_module_context_persistent.transfer.import_ import import_session
from fixtures.generate import generate_session

MOST_RATIO, MOST_MB = 7.0, 200
SEED, MESSAGES, MEAN_BYTES = 5, 1_000, 1_000
REPEATS = 25


def generate(path: Path) -> Path:
    """Write a session of pi; every answer has usage."""
    lines = [{"type": "session", "version": 3, "id": "bench", "cwd": "/work", "timestamp": "2026-01-05T09:00:00.000Z"}]
    tokens, entries = 0, [dict(line) for line in lines]
    for number, message in enumerate(generate_session(SEED, MESSAGES, mean_bytes=MEAN_BYTES)):
        tokens += len(str(message.get("content"))) // 4
        entries.append(
            {
                "type": "message",
                "id": f"{number:08x}",
                "parentId": f"{number - 1:08x}" if number else None,
                "timestamp": "2026-01-05T09:00:00.000Z",
                "message": _as_pi(message, tokens),
            }
        )
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def _as_pi(message: dict[str, object], tokens: int) -> dict[str, object]:
    text = [{"type": "text", "text": str(message.get("content") or "")}]
    if message["role"] == "tool":
        call_id = message.get("tool_call_id")
        return {"role": "toolResult", "toolCallId": call_id, "toolName": "read", "content": text, "isError": False}
    if message["role"] != "assistant":
        return {"role": "user", "content": text}
    called = message.get("tool_calls")
    calls = [
        {"type": "toolCall", "id": call["id"], "name": call["tool"], "arguments": call["arguments"]}
        for call in (called if isinstance(called, list) else [])
    ]
    usage = {"input": 10, "output": 80, "cacheRead": tokens, "cacheWrite": 0, "cost": {"total": 0.01}}
    return {"role": "assistant", "content": [*text, *calls], "usage": usage, "stopReason": "toolUse", "model": "m"}


def _cpu_s(job: Callable[[], object]) -> float:
    begin = time.process_time()
    job()
    return time.process_time() - begin


def _import(path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        import_session(path, path=f"{directory}/imported.jsonl")


def measure(path: Path) -> bool:
    """Print what an import of a file costs, and say whether the promises hold."""
    lines = path.read_bytes().splitlines()
    parsing, importing = [], []
    for _ in range(REPEATS):
        parsing.append(_cpu_s(lambda: [json.loads(line) for line in lines]))
        importing.append(_cpu_s(lambda: _import(path)))
    ratio = median(importing) / median(parsing)
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.imports", "--memory", path], capture_output=True, check=True, text=True
    )
    peak_mb = int(child.stdout) / 1024
    parse_ms, import_ms = 1e3 * median(parsing), 1e3 * median(importing)
    print(
        f"{path.name}: parsing {parse_ms:.1f} ms, import {import_ms:.1f} ms: {ratio:.1f} times "
        f"(at most {MOST_RATIO:g}); peak {peak_mb:.0f} MB (at most {MOST_MB})"
    )
    return ratio <= MOST_RATIO and peak_mb <= MOST_MB


def main() -> int:
    """Measure each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--memory", type=Path, help="only import this file, and print the peak of memory in kB")
    chosen = parser.parse_args()
    if chosen.memory:
        _import(chosen.memory)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        files = chosen.files or [generate(Path(directory) / "pi.jsonl")]
        kept = [measure(path) for path in files]
        return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
