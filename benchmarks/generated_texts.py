"""Texts that are generated, seeded, to fit and to measure the token estimate on: logs, forms, emoji, base64."""

# ruff: noqa: E501, RUF001 (emoji)

from __future__ import annotations

import base64
import json
import random
import unicodedata
import uuid
import zlib

_LOG_LINES = (
    "GET {path} 200 {n}ms", "connection from {ip} closed", "sha256:{h64} {path}", "commit {h40}", "{path}:{n}:{n}: note",
    "request id={uuid} took {seconds}s", "0x{h12} in ?? () from {path}", "worker[{n}] started pid={n}",
    "cache miss key={h32} size={n}", 'uploaded {path} ({n} bytes) etag="{h32}"', "{h8}..{h8} main -> origin/main",
    "retry {n}/5 after {seconds}s: timeout", "container {h12} exited with code {n}",
)  # fmt: skip


def log_lines(rng: random.Random, paths: list[str]) -> str:
    """Sixty lines of a log, with hashes, addresses and paths."""
    lines = []
    for _ in range(60):
        values = {f"h{n}": f"{rng.getrandbits(4 * n):0{n}x}" for n in (8, 12, 32, 40, 64)}
        values |= {"path": rng.choice(paths), "n": str(rng.randrange(1, 9999)), "seconds": f"{rng.random() * 20:.3f}"}
        values |= {
            "ip": ".".join(str(rng.randrange(256)) for _ in range(4)),
            "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
        }
        day = f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        time = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(1000):03}"
        stamp = rng.choice((f"{day}T{time}Z", f"[{day} {time}]"))
        lines.append(
            f"{stamp} {rng.choice(('INFO', 'DEBUG', 'ERROR', 'warning'))} {rng.choice(_LOG_LINES).format(**values)}"
        )
    return "\n".join(lines)


def form(rng: random.Random, seed: int, words: list[str]) -> str:
    """Forms that tools print: records, tables, rulers, dumps, addresses, long numbers."""

    def number() -> int:
        return rng.randrange(10 ** rng.randrange(1, 9))

    def name() -> str:
        first, *rest = rng.sample(words, rng.randrange(2, 5))
        return first + "".join(map(str.capitalize, rest))

    def record() -> dict[str, object]:
        values = (number, name, lambda: rng.random() * 100, lambda: rng.random() < 0.5, lambda: rng.sample(words, 2))
        return {"id": number(), **{rng.choice(words): rng.choice(values)() for _ in range(rng.randrange(2, 7))}}

    def ruler() -> str:
        return rng.choice("-=*#_~.─━═") * rng.randrange(10, 100)

    def box() -> str:
        width = rng.randrange(10, 70)
        text = rng.choice(words).ljust(width)
        return f"┌{'─' * width}┐\n│{text}│\n│{' ' * width}│\n└{'─' * width}┘"

    def dump() -> str:
        row = rng.randbytes(16)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        return f"{number():08x}  {row.hex(' ')}  |{shown}|"

    lines = (
        lambda: json.dumps([record() for _ in range(3)], separators=(",", ":")),
        lambda: json.dumps(record(), indent=rng.choice((None, 2, 4))),
        lambda: ",".join(rng.choice((f"{rng.random() * 1000:.2f}", str(number()), name())) for _ in range(8)),
        lambda: "| " + " | ".join(f"{rng.choice(words):<12}" for _ in range(5)) + " |",
        lambda: f"{ruler()}\n {' '.join(rng.sample(words, 5))}\n{ruler()}",
        dump,
        lambda: f"https://{rng.choice(words)}.example/{rng.choice(words)}/{rng.getrandbits(32):x}?{name()}={number()}",
        lambda: " ".join(name() for _ in range(8)),
        lambda: " ".join(str(number()) for _ in range(rng.randrange(2, 12))),
        lambda: " ".join(rng.choices(words, k=12)).upper(),
        lambda: "".join(rng.choice("0123456789") for _ in range(rng.randrange(8, 120))),
        box,
        lambda: " " * rng.randrange(1, 100) + name() + "\n" * rng.randrange(1, 12),
    )
    return "\n".join(lines[seed % len(lines)]() if rng.random() < 0.7 else rng.choice(lines)() for _ in range(40))


_EMOJI = (
    "😀 😂 ❤️ 🔥 ✅ ❌ 🚀 🎉 👍 🙏 😊 😍 🤔 😭 ✨ 💡 📝 📦 🐛 ⚠️ ⭐ 🔧 🔒 📊 👀 💯 "
    "🎯 ⚡️ 🏆 🌍 👋 🙌 💪 🎊 🟢 🔴 🟡 ➡️ ✔️ 📁 🧪 🛠️ ℹ️ ⏳ 👩‍💻 👨‍👩‍👧 🇩🇪 🇺🇸 🇯🇵 👍🏽 👏🏿 🤷‍♂️"
)


def emoji(rng: random.Random) -> str:
    """Emoji, the usual ones more often, with a few words between."""
    blocks = ((0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x1FA70, 0x1FAFF), (0x2600, 0x27BF))
    every = [chr(c) for low, high in blocks for c in range(low, high + 1) if unicodedata.category(chr(c)) == "So"]
    usual = _EMOJI.split()
    parts = []
    for _ in range(400):
        pool = usual if rng.random() < 0.6 else every
        parts.append(
            rng.choice(pool) * rng.randrange(1, 4) if rng.random() < 0.8 else rng.choice(("ok", "done", "\n", "!"))
        )
        parts.append(" " * (rng.random() < 0.4))
    return "".join(parts)


def base64_text(rng: random.Random, seed: int, plain: bytes) -> str:
    """Base64 of random bytes, of packed ones or of plain ones; every other time in lines."""
    plain = plain or rng.randbytes(200_000)
    part = plain[seed * 3000 : seed * 3000 + 3000]
    text = base64.b64encode((rng.randbytes(3000), zlib.compress(part * 2), part)[seed % 3]).decode()
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76)) if seed % 2 else text
