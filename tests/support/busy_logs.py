"""Logs with something of everything that sums are made of, at random: calls, results, usage, plans, views, resets."""

import random
from typing import Any

from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from tests.support.logs import keep, reset_bodies

MODELS = ("claude-sonnet-4-5", "unknown-model")


def message(number: int, rng: random.Random) -> dict[str, Any]:
    """Any message of a session: what a person, an assistant, a tool or a hook says; ids of calls may come again."""
    role = rng.choice(["user", "user", "assistant", "assistant", "tool", "tool", "system", "developer"])
    content = rng.choice(["", " ", "word " * rng.randrange(60), "Error: no", "exit code: 1"])
    made: dict[str, Any] = {"role": role, "content": content}
    metadata: dict[str, Any] = {}
    if rng.random() < 0.5:
        metadata["timestamp"] = f"2026-01-0{rng.randrange(1, 9)}T09:00:{number % 60:02}Z"
    if role == "user" and rng.random() < 0.3:
        metadata["source"] = "hook"
    if rng.random() < 0.1:
        metadata["pinned"] = True
    if role == "assistant":
        ids = [f"c{rng.randrange(8)}" for _ in range(rng.randrange(4))]
        if ids:
            command = rng.choice(["grep", "make"])
            arguments = {"n": number, "command": command}
            made["tool_calls"] = [{"id": one, "tool": rng.choice("abc"), "arguments": arguments} for one in ids]
        if rng.random() < 0.2:
            used = {"input_tokens": rng.randrange(9999), "output_tokens": rng.choice([None, 5])}
            metadata |= {"usage": used, "model": rng.choice(MODELS)}
    if role == "tool":
        made["tool_call_id"] = rng.choice(["", f"c{rng.randrange(8)}"])
        if rng.random() < 0.3:
            made["name"] = rng.choice("abd")
    return made | {"metadata": metadata}


def message_body(number: int, rng: random.Random) -> bytes:
    """The body of such a message."""
    return encode_message(message(number, rng), message_id=f"id-{number}", timestamp="no time")


def steps(count: int, rng: random.Random) -> list[list[bytes]]:
    """The bodies of a log, step by step: what stands in one step was written together."""
    made = [[encode_control("header", version=2, log_id="log", session_id="s")]]
    number = 0
    for step in range(count):
        kind = rng.choice(
            ["add"] * 8 + ["reset", "keep", "clear", "plan", "pin", "usage", "usage", "view", "fork", "appends"]
        )
        new = [message_body(number + at, rng) for at in range(rng.randrange(1, 6))]
        first = rng.randrange(number) if number else 0
        number += len(new)
        if kind == "add":
            made.append(new)
        elif kind == "reset" and first:
            made.append(reset_bodies(f"r{step}", keep(0, first), *new))
        elif kind == "keep" and first:
            made.append(reset_bodies(f"k{step}", *new[:1], keep(first // 2, first), *new[1:]))
        elif kind == "clear":
            made.append(reset_bodies(f"c{step}"))
        elif kind == "plan":
            made.append(
                [encode_control("plan", id=f"p{rng.randrange(4)}", step=1, tokens_before=9, cuts={"id-1": [1]})]
            )
        elif kind == "pin":
            made.append([encode_control("pin", message_id=f"id-{first}", pinned=rng.random() < 0.7)])
        elif kind == "view":
            names = {"plan": f"p{rng.randrange(3)}", "head": "", "hash": "h", "id": f"v{step}"}
            asked = {"provider": f"p{rng.randrange(3)}", "model": "m", "tokens": rng.randrange(99), "messages": 1}
            made.append([encode_control("system", hash=f"h{step}")])
            made.append([encode_control("label", title=f"name {step}", tags=[f"t{step}"])])
            made.append([encode_control("view", upto="id-0", **asked, **names)])
        elif kind == "appends":
            counts = {"appends": 3, "append_us": rng.randrange(999), "conflicts": 1, "buckets": [[rng.randrange(9), 3]]}
            made.append([encode_control("appends", **counts)])
        elif kind == "fork":
            header = {
                "version": 2,
                "log_id": rng.choice(["log", f"log{step}"]),
                "session_id": "s",
                "forked_from": f"id-{number}",
            }
            made.append([encode_control("header", **header)])
        else:
            counts = {"actual_tokens": rng.randrange(9999), "predicted_tokens": rng.randrange(9999)}
            more = {"cached_tokens": 3, "output_tokens": rng.choice([None, 7]), "ratio": 1.5}
            made.append(
                [encode_control("usage", provider=rng.choice("pq"), model=rng.choice(MODELS), **counts, **more)]
            )
    return made


def lines(bodies: list[bytes], seed: int, rng: random.Random, damage: float) -> tuple[bytes, int]:
    """The bytes of records, and the seed of the next one; some of them damaged, lost, bare, glued or moved."""
    written: list[bytes] = []
    for one in bodies:
        line, seed = seal(one, seed)
        chance = rng.random() / damage if damage else 1.0
        if chance < 0.2:
            line = one + b"}\n"  # without a checksum
        elif chance < 0.4:
            line = line[:20] + bytes([line[20] ^ 4]) + line[21:]
        elif chance < 0.55:
            line = b"no json\n"
        elif chance < 0.7:
            line = b""
        elif chance < 0.8:
            line = line[:9] + line
        elif chance < 0.9 and written:
            line, written[-1] = written[-1], line
        written.append(line)
    return b"".join(written), seed
