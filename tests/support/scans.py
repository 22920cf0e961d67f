"""Lines scanned, and what the scanner made of them."""

from collections.abc import Sequence
from typing import Any

from amplifier_module_context_persistent.log.index import id_hash_of
from amplifier_module_context_persistent.log.scanner import Scanner


def scan(lines: Sequence[bytes], *, piece: int = 10**9, **options: Any) -> Scanner:
    """Scan lines, in blocks of so many lines."""
    scanner = Scanner(**options)
    for start in range(0, len(lines), min(piece, len(lines) or 1)):
        scanner.feed(b"".join(lines[start : start + piece]))
    return scanner


def ids(scanner: Scanner, count: int = 40) -> list[int]:
    """The numbers of the live messages."""
    number = {id_hash_of(f"id-{n}".encode()): n for n in range(count)}
    return [number[scanner.index.columns.id_hashes[ordinal]] for ordinal in scanner.index.live]


def found(scanner: Scanner) -> list[tuple[str, int, int]]:
    return [(damage.kind, damage.line, damage.offset) for damage in scanner.index.damage]


def live_offsets(scanner: Scanner) -> list[int]:
    """Where the live messages stand."""
    return [scanner.index.columns.offsets[ordinal] for ordinal in scanner.index.live]
