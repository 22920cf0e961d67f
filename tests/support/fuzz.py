"""A fuzzer for what reads a log: the record decoder and the scanner. Whatever the bytes, they are read or reported.

    python -m tests.support.fuzz --inputs 1000000 --seed 1

An input is a block of lines: random bytes, or lines of the fixtures and of the golden log with what disks, editors and
programs do to them, sometimes sealed again so that a strange line verifies. Every line is decoded (it parses or raises
ValueError), and the block is scanned, in one piece or in several: every line is in the index, counted as a control
record, or reported at its place; every record lies within its line. Prints counts; exits with 1 at the first input that
does anything else, and shows it.
"""

import argparse
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from amplifier_module_context_persistent.log.checksum import seal, stored_crc
from amplifier_module_context_persistent.log.record_limits import MAX_RECORD_BYTES
from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.log.salvage import has_role
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support.places import ROOT

SOURCES = ("fixtures/damaged.jsonl", "fixtures/every-kind.jsonl", "fixtures/older-module.jsonl", "fixtures/torn.jsonl")
GOLDEN = "tests/log/golden/format-2.jsonl"
LONGEST_LINE = 20_000
RECEIPT = b'{"_record":"view",'
STRANGE = (
    b"\0" * 512,
    b"\xff\xfe\x80",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\r",
    b"\n",
    b"\xef\xbb\xbf",
    b"null",
    b"[]",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 30,
    b"9" * 5_000,
    b"-0.0",
    b"\\ud800",
    b"\\u0000",
    b'"',
    b"\\",
    b"{",
    b"}",
    b',"_json":1',
    b',"_crc":"00000000"}',
    b',"_crc":"0000000G"}',
    b'{"role":"user"',
    b'"metadata":null',
    b'"metadata":{"message_id":7,"pinned":true}',
    b'"message_id":"',
)
CONTROL = (
    b'{"_record":null}',
    b'{"_record":"view",}',
    b'{"_record":"reset","id":"r","count":-1}',
    b'{"_record":"reset","id":"r","count":2}',
    b'{"_record":"reset","id":"r","count":true}',
    b'{"_record":"reset","id":["r"],"count":1e300}',
    b'{"_record":"keep","from":"id-0","to":"id-1"}',
    b'{"_record":"keep","from":"id-1"}',
    b'{"_record":"keep","from":{},"to":[]}',
    b'{"_record":"commit","id":"r"}',
    b'{"_record":"commit"}',
    b'{"_record":"plan","keep":7}',
    b'{"_record":"usage","provider":[],"model":{}}',
    b'{"_record":"system","hash":[[]]}',
)
BRACKETS = ((b"[", b"]"), (b'{"a":', b"}"))

Mutation = Callable[[random.Random, bytearray, list[bytes]], None]


class FoundError(Exception):
    """An input that was neither read nor reported."""


@dataclass
class Counts:
    """What a run did."""

    inputs: int = 0
    bytes: int = 0
    lines: int = 0
    decoded: int = 0
    refused: int = 0
    records: int = 0
    findings: int = 0
    slowest_s: float = 0.0
    grown_mb: int = 0

    def __str__(self) -> str:
        return (
            f"inputs fuzzed: {self.inputs:,} ({self.bytes:,} bytes), lines: {self.lines:,}, parsed: {self.decoded:,}, "
            f"refused: {self.refused:,}, records indexed: {self.records:,}, findings: {self.findings:,}, "
            f"slowest input: {self.slowest_s:.2f} s, memory grown by {self.grown_mb} MB"
        )


def seeds() -> list[bytes]:
    """The lines that are mutated, without LF."""
    lines: list[bytes] = []
    for name in (*SOURCES, GOLDEN):
        with open(os.path.join(ROOT, name), "rb") as file:
            lines += [line for line in file.read().split(b"\n") if 0 < len(line) <= LONGEST_LINE]
    return [*lines, *CONTROL]


# -- mutations ---------------------------------------------------------------------------------------------------------


def flip(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    if line:
        line[rng.randrange(len(line))] ^= 1 << rng.randrange(8)


def set_byte(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    if line:
        line[rng.randrange(len(line))] = rng.randrange(256)


def insert(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    at = rng.randint(0, len(line))
    line[at:at] = rng.randbytes(rng.randint(1, 8))


def insert_strange(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    at = rng.randint(0, len(line))
    line[at:at] = rng.choice(STRANGE)


def replace_value(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    """Put something else in the place of a value."""
    at = line.find(b'":', rng.randint(0, len(line)))
    if at >= 0:
        end = line.find(b",", at)
        value = rng.choice((*STRANGE[7:16], b"true", b"{}", b'""', b'"user"', b"-1", nested(rng)))
        line[at + 2 : end if end > 0 else len(line)] = value


def delete(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    at = rng.randint(0, len(line))
    del line[at : at + rng.choice((1, 1, 2, 8, 40))]


def splice(rng: random.Random, line: bytearray, lines: list[bytes]) -> None:
    other = rng.choice(lines)
    line[rng.randint(0, len(line)) :] = other[rng.randint(0, len(other)) :]


def glue(rng: random.Random, line: bytearray, lines: list[bytes]) -> None:
    line += rng.choice(lines)


def duplicate(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    start = rng.randint(0, len(line))
    piece = line[start : start + rng.choice((1, 10, 100))]
    line[start:start] = piece * rng.choice((1, 1, 2, 30))


def truncate(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    del line[rng.randint(0, len(line)) :]


def zero(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    start = rng.randint(0, len(line))
    end = min(len(line), start + rng.choice((1, 16, 4096)))
    line[start:end] = bytes(end - start)


def nest(rng: random.Random, line: bytearray, _lines: list[bytes]) -> None:
    at = line.find(b":", rng.randint(0, len(line))) + 1
    line[at:at] = nested(rng)


def nested(rng: random.Random) -> bytes:
    opening, closing = rng.choice(BRACKETS)
    deep = rng.choice((3, 60, 250, 254, 900, 990, 1_020, 1_100)) if rng.random() < 0.99 else 100_000
    return opening * deep + b"1" + closing * rng.choice((deep, deep, 0))


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, set_byte, insert, insert_strange, replace_value, delete, splice, glue, duplicate, truncate, zero),
    nest,
)
WEIGHTS = (6, 4, 4, 6, 6, 4, 4, 3, 3, 3, 3, 1)


def make_line(rng: random.Random, lines: list[bytes]) -> bytes:
    """One line, or what becomes several by an LF that a mutation put into it."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.choice((0, 1, 5, 30, 200)))
    line = bytearray(rng.choice(lines))
    for mutate in rng.choices(MUTATIONS, WEIGHTS, k=rng.choice((0, 1, 1, 1, 2, 4))):
        mutate(rng, line, lines)
    return bytes(line)


def make_input(rng: random.Random, lines: list[bytes]) -> bytes:
    """A block of whole lines, of which some continue the chain."""
    made: list[bytes] = []
    chain = 0
    begin = rng.randrange(len(lines))
    for at in range(rng.choice((1, 1, 1, 2, 3, 6))):
        line = lines[(begin + at) % len(lines)] if rng.random() < 0.2 else make_line(rng, lines)
        if rng.random() < 0.3:  # a strange line that verifies
            body = line[:-19] if stored_crc(line) is not None else line[:-1]
            line = seal(body, chain)[0][:-1]
        chain = stored_crc(line) or chain
        made.append(line + b"\n")
    return b"".join(made)


# -- checks ------------------------------------------------------------------------------------------------------------


def check(rng: random.Random, block: bytes, counts: Counts) -> None:
    """Decode every line of a block and scan it.

    Raises:
        FoundError: a line was neither read nor reported, or what was read lies elsewhere.
    """
    scanner = Scanner(max_record_bytes=500 if rng.random() < 0.05 else MAX_RECORD_BYTES)
    fed = 0
    while fed < len(block):
        end = len(block) if rng.random() < 0.7 else block.index(b"\n", rng.randrange(fed, len(block))) + 1
        scanner.feed(block[fed:end])
        fed = end
        if scanner.offset != fed or scanner.line != block.count(b"\n", 0, fed):
            raise FoundError(f"fed {fed} bytes, the scanner stands at {scanner.offset}, line {scanner.line}")
    index = scanner.index
    reported = {(found.line, found.offset) for found in index.damage}
    indexed = dict(zip(index.columns.offsets, index.columns.lengths, strict=True))
    if len(indexed) != len(index) or any(ordinal >= len(index) for ordinal in index.live):
        raise FoundError("a record is indexed twice, or one is live that is none")
    offset = controls = 0
    for number, line in enumerate(block.split(b"\n")[:-1], 1):
        end = offset + len(line) + 1
        taken = indexed.get(offset) == len(line) + 1
        here = (number, offset) in reported
        kind = kind_of(line, counts)
        receipt = line.startswith(RECEIPT) and stored_crc(line) is not None
        controls += kind == "control"
        if len(line) >= scanner.max_record_bytes:
            right = here
        elif kind == "message":
            right = taken
        elif kind == "control":
            right = not taken
        else:  # what verifies is believed, and parsed where it is read
            right = here or (taken and stored_crc(line) is not None) or receipt
        if not right:
            raise FoundError(f"line {number} ({kind}): in the index: {taken}, reported: {here}")
        for start in range(offset, end) if not taken and len(indexed) > 1 and len(line) < 2_000 else ():
            if indexed.get(start, 0) > end - start:
                raise FoundError(f"a record at byte {start} goes beyond its line")
        offset = end
    if scanner.max_record_bytes == MAX_RECORD_BYTES and sum(index.control_counts.values()) < controls:
        raise FoundError(f"{controls} control records, counted: {index.control_counts}")
    if any(start + size > len(block) for start, size in indexed.items()):
        raise FoundError("a record goes beyond the block")
    if not all(0 <= at < len(block) and 1 <= line <= scanner.line for line, at in reported):
        raise FoundError("a finding lies beyond the block")
    counts.records += len(index)
    counts.findings += len(index.damage)


def kind_of(line: bytes, counts: Counts) -> str:
    """What a line is by the decoder: a message, a control record, another object, or none."""
    counts.lines += 1
    try:
        value = decode(line)
    except ValueError:
        counts.refused += 1
        return "none"
    if not isinstance(value, dict):
        raise FoundError(f"decoded to {type(value).__name__}")
    counts.decoded += 1
    if "_record" in value:
        return "control"
    return "message" if has_role(value) else "object"


def peak_mb() -> int:
    """The most memory that this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak >> (20 if sys.platform == "darwin" else 10))


def fuzz(inputs: int, seed: int, *, every: int = 0) -> Counts:
    """Make and check so many inputs; prints the counts after every so many."""
    rng, lines, counts = random.Random(seed), seeds(), Counts()
    before, begin = peak_mb(), time.perf_counter()
    for number in range(inputs):
        block = make_input(rng, lines)
        start = time.perf_counter()
        try:
            check(rng, block, counts)
        except Exception as error:
            shown = repr(block) if len(block) < 4_000 else f"{block[:3_000]!r} … of {len(block)} bytes"
            raise FoundError(f"seed {seed}, input {number}: {type(error).__name__}: {error}\n{shown}") from error
        counts.slowest_s = max(counts.slowest_s, time.perf_counter() - start)
        counts.inputs += 1
        counts.bytes += len(block)
        if every and counts.inputs % every == 0:
            counts.grown_mb = peak_mb() - before
            print(f"{counts}, {counts.inputs / (time.perf_counter() - begin):,.0f} inputs/s", flush=True)
    counts.grown_mb = peak_mb() - before
    return counts


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        counts = fuzz(options.inputs, options.seed, every=50_000)
    except FoundError as found:
        print(found)
        return 1
    print(f"seed {options.seed}: {counts}")
    return 1 if counts.grown_mb > 100 else 0


if __name__ == "__main__":
    sys.exit(main())
