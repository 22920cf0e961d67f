"""Time and memory of imports: sessions of other agents of a given size, each imported in a process of its own.

    python -m benchmarks.transcripts [MEGABYTES] [FORMAT...]

Texts have 900 bytes (`--text` says another size); each turn has a call with its result. What is printed is the time of
the processor, its ratio to parsing the file's lines with orjson, and the most memory (resident set size).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

_WORDS = ["the", "test", "reads", "a", "line", "of", "its", "file", "and", "says", "where", "it", "was", "found"]
_RUN = """
import sys
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
report = import_session(sys.argv[1], path=sys.argv[2])
assert report.messages > 100, report
"""
_PARSE = """
import orjson, sys
with open(sys.argv[1], "rb") as file:
    for line in file:
        orjson.loads(line)
"""


def text_of(number: int, size: int) -> str:
    """A text of about so many bytes, another one for each number."""
    first = f"{number} "
    rest = " ".join(_WORDS[(number + at) % len(_WORDS)] for at in range(size // 5))
    return (first + rest)[:size]


def time_of(number: int) -> str:
    """A time for each number."""
    return (
        f"2026-01-{number // 86_400 % 28 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    )


def claude_code(turn: int, size: int) -> Iterator[Entry]:
    """The entries of a turn of Claude Code."""
    shared = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.1.0", "gitBranch": "main"}
    usage = {"input_tokens": 9, "cache_read_input_tokens": 900, "output_tokens": 90}
    before = f"b{turn - 1}" if turn else None

    def entry(kind: str, own: str, parent: str | None, message: Entry, **more: Any) -> Entry:
        at = {"uuid": own, "parentUuid": parent, "timestamp": time_of(turn), "type": kind}
        return {**shared, **at, "message": message, **more}

    def answer(content: list[Entry], number: int) -> Entry:
        known = {"id": f"msg_{turn}_{number}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        return {**known, "type": "message", "content": content}

    call = {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": text_of(turn, size // 4)}}
    output = text_of(turn + 1, size)
    result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": output}
    yield entry("user", f"u{turn}", before, {"role": "user", "content": text_of(turn, size)})
    yield entry("assistant", f"a{turn}", f"u{turn}", answer([call], 1), requestId=f"r{turn}")
    told = {"toolUseResult": {"stdout": output, "stderr": "", "interrupted": False}}
    yield entry("user", f"r{turn}", f"a{turn}", {"role": "user", "content": [result]}, **told)
    said = [{"type": "text", "text": text_of(turn + 2, size)}]
    yield entry("assistant", f"b{turn}", f"r{turn}", answer(said, 2), requestId=f"q{turn}")


def codex(turn: int, size: int) -> Iterator[Entry]:
    """The lines of a turn of Codex; the first has the session's."""

    def line(kind: str, **payload: Any) -> Entry:
        return {"timestamp": time_of(turn), "type": kind, "payload": payload}

    def said(role: str, kind: str, text: str) -> Entry:
        return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    if not turn:
        yield line("session_meta", id="s", timestamp=time_of(0), cwd="/w", cli_version="1")
    yield said("user", "input_text", text_of(turn, size))
    yield line("event_msg", type="user_message", message=text_of(turn, size))
    command = json.dumps({"cmd": text_of(turn, size // 4)})
    yield line("response_item", type="function_call", name="shell", arguments=command, call_id=f"c{turn}")
    yield line("response_item", type="function_call_output", call_id=f"c{turn}", output=text_of(turn + 1, size))
    yield said("assistant", "output_text", text_of(turn + 2, size))
    yield line("event_msg", type="agent_message", message=text_of(turn + 2, size))
    usage = {"input_tokens": 900 + turn, "cached_input_tokens": 800, "output_tokens": 90}
    yield line("event_msg", type="token_count", info={"last_token_usage": usage})


def pi(turn: int, size: int) -> Iterator[Entry]:
    """The entries of a turn of pi; the first has the session's header."""
    if not turn:
        yield {"type": "session", "version": 3, "id": "s", "timestamp": time_of(0), "cwd": "/w"}
    before = f"{turn - 1:07x}d" if turn else None

    def entry(own: str, parent: str | None, **message: Any) -> Entry:
        known = {"type": "message", "id": f"{turn:07x}{own}", "parentId": parent, "timestamp": time_of(turn)}
        return {**known, "message": message}

    usage = {"input": 9, "output": 90, "cacheRead": 900, "cacheWrite": 0, "totalTokens": 999}
    asked = {"role": "assistant", "model": "claude-sonnet-4-5", "provider": "anthropic", "usage": usage}
    arguments = {"command": text_of(turn, size // 4)}
    call = {"type": "toolCall", "id": f"c{turn}", "name": "bash", "arguments": arguments}

    def text(number: int) -> list[Entry]:
        return [{"type": "text", "text": text_of(number, size)}]

    yield entry("a", before, role="user", content=text(turn))
    yield entry("b", f"{turn:07x}a", content=[call], **asked)
    yield entry("c", f"{turn:07x}b", role="toolResult", toolCallId=f"c{turn}", toolName="bash", content=text(turn + 1))
    yield entry("d", f"{turn:07x}c", content=text(turn + 2), **asked)


def gemini_cli(turn: int, size: int) -> Iterator[Entry]:
    """The lines of a turn of Gemini CLI; the first has the session's."""
    if not turn:
        yield {"sessionId": "s", "projectHash": "p", "startTime": time_of(0), "lastUpdated": time_of(0)}
    yield {"id": f"u{turn}", "timestamp": time_of(turn), "type": "user", "content": text_of(turn, size)}
    given = [{"functionResponse": {"name": "shell", "response": {"output": text_of(turn + 1, size)}}}]
    call = {"id": f"c{turn}", "name": "shell", "args": {"command": text_of(turn, size // 4)}, "result": given}
    tokens = {"input": 900, "output": 90, "cached": 800}
    answer = {"content": text_of(turn + 2, size), "toolCalls": [call], "tokens": tokens, "model": "gemini-3-pro"}
    yield {"id": f"g{turn}", "timestamp": time_of(turn), "type": "gemini", **answer}


def copilot_cli(turn: int, size: int) -> Iterator[Entry]:
    """The events of a turn of GitHub Copilot CLI; the first has the session's."""

    def event(own: str, kind: str, **data: Any) -> Entry:
        return {"type": kind, "id": f"{own}{turn}", "timestamp": time_of(turn), "parentId": None, "data": data}

    if not turn:
        yield event("s", "session.start", sessionId="s", version=1, producer="copilot-agent")
    yield event("u", "user.message", content=text_of(turn, size))
    arguments = {"command": text_of(turn, size // 4)}
    call = {"toolCallId": f"c{turn}", "name": "bash", "arguments": arguments}
    yield event("a", "assistant.message", messageId=f"m{turn}", content="", toolRequests=[call])
    result = {"content": text_of(turn + 1, size)}
    yield event("r", "tool.execution_complete", toolCallId=f"c{turn}", success=True, result=result)
    said = text_of(turn + 2, size)
    yield event("b", "assistant.message", messageId=f"n{turn}", content=said, toolRequests=[], outputTokens=90)


def jsonl(turn: int, size: int) -> Iterator[Entry]:
    """The messages of a turn in Amplifier's own form."""

    def message(own: str, role: str, content: str, **more: Any) -> Entry:
        told = {"timestamp": time_of(turn), "message_id": f"{own}{turn}"}
        return {"role": role, "content": content, **more, "metadata": told}

    call = {"id": f"c{turn}", "tool": "bash", "arguments": {"command": text_of(turn, size // 4)}}
    yield message("u", "user", text_of(turn, size))
    yield message("a", "assistant", "", tool_calls=[call])
    yield message("r", "tool", text_of(turn + 1, size), tool_call_id=f"c{turn}", name="bash")
    yield message("b", "assistant", text_of(turn + 2, size))


FORMATS: dict[str, Callable[[int, int], Iterator[Entry]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini_cli,
    "copilot-cli": copilot_cli,
    "jsonl": jsonl,
}


def write_source(path: Path, format_name: str, size_bytes: int, text_bytes: int) -> None:
    """Write a session of a format."""
    turn, written = 0, 0
    with path.open("w") as file:
        while written < size_bytes:
            for entry in FORMATS[format_name](turn, text_bytes):
                written += file.write(json.dumps(entry) + "\n")
            turn += 1


def run(code: str, *arguments: str) -> tuple[float, int]:
    """Seconds of the processor that a process takes, and its most memory in bytes."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the process ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit


def idle() -> tuple[float, int]:
    """What a process takes that imports nothing but the module."""
    return run(_RUN.rpartition("report = ")[0])


def measure(directory: Path, format_name: str, size_bytes: int, text_bytes: int) -> str:
    """A line of the table: the time of an import, its ratio to parsing, and the most memory."""
    source = directory / f"{format_name}.jsonl"
    write_source(source, format_name, size_bytes, text_bytes)
    parsing = min(run(_PARSE, str(source))[0] for _ in range(2)) - run("import orjson")[0]
    seconds, memory = run(_RUN, str(source), str(directory / "log.jsonl"))
    seconds -= idle()[0]
    for path in directory.iterdir():
        path.unlink()
    return f"{format_name:12} {seconds:6.1f} s  {seconds / parsing:5.1f} times orjson  {memory / 1e6:5.0f} MB"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("megabytes", nargs="?", type=int, default=100)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", default=[*FORMATS])
    parser.add_argument("--text", type=int, default=900, help="bytes of a text")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name in asked.formats:
            print(measure(Path(directory), name, asked.megabytes * 1_000_000, asked.text), flush=True)


if __name__ == "__main__":
    main()
