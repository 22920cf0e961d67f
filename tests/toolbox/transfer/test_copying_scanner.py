"""Bare messages are copied in one loop: whatever is among them, the result is that of looking at each line closely."""

import json
from typing import Any
from zlib import crc32

import pytest

from amplifier_module_context_persistent.log.checksum import CRC_TAIL_BYTES, seal
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.toolbox.transfer.copy_log import MessageCopier
from amplifier_module_context_persistent.toolbox.transfer.imports.copying_scanner import CopyingScanner
from amplifier_module_context_persistent.toolbox.transfer.imports.spool import Spool


def bare(number: int, **more: Any) -> bytes:
    """A message without a checksum."""
    told = {"timestamp": "2026-01-01T00:00:00Z", "message_id": f"m{number}"}
    return json.dumps({"role": "user", "content": f"text {number}", "metadata": told} | more).encode()


MANY = [bare(number) for number in range(100)]
BETWEEN = {
    "a blank line": b"",
    "a damaged line": b'{"role":"user","content":"cu',
    "no message": b'{"a":1}',
    "a list": b"[1]",
    "a message without an id": bare(500, metadata={"source": "s"}),
    "a message without metadata": b'{"role":"assistant","content":"x"}',
    "metadata that is no object": bare(500, metadata=[1]),
    "a pinned message": bare(500, metadata={"pinned": True, "message_id": "p"}),
    "an id that an earlier message has": bare(7),
    "a reserved key": bare(500, _json=1),
    "a control record": b'{"_record":"header","version":2}',
    "a control record of another writer": b'{ "_record": "view"}',
    "a number that is not finite": b'{"role":"user","content":NaN}',
    "a number beyond 64 bits": b'{"role":"user","content":"x","n":123456789012345678901234567890}',
    "half of a surrogate pair": b'{"role":"user","content":"\\ud800"}',
    "deep nesting": b'{"role":"user","content":' + b"[" * 230 + b"]" * 230 + b"}",
    "nesting that no record may have": b'{"role":"user","content":' + b"[" * 300 + b"]" * 300 + b"}",
    "a message without content": b'{"role":"user"}',
    "a checksum that is not at the end": b'{"role":"user","_crc":"00000000","content":"x"}',
    "two records on a line": bare(500) + bare(501),
}


def scanned(lines: list[bytes], spool: Spool, monkeypatch: pytest.MonkeyPatch, *, closely: bool) -> Any:
    refused: dict[int, str] = {}
    copier = MessageCopier(lambda message_id: f"{message_id}.2", refused)
    scanner = CopyingScanner(1 << 20, copier, spool)
    with monkeypatch.context() as patch:
        if closely:
            patch.setattr(CopyingScanner, "is_among_bare_messages", False)
        for start in range(0, len(lines), 70):
            scanner.feed(b"".join(line + b"\n" for line in lines[start : start + 70]))
    copies = scanner.copies
    columns = (copies.roles, copies.ids, copies.have_timestamp, copies.have_own_id, copies.renamed)
    facts = (*columns, list(copies.bodies))
    return facts, refused, scanner.index, scanner.line, scanner.offset, scanner.seed, scanner.snapshot()


def chained(index: Index, lines: list[bytes], follows: str) -> list[bytes]:
    """Records with checksums: the first continues the last line, or what it was before, or an early line."""
    seeds = index.columns.seeds
    seed = {
        "the last line": index.columns.checks[-1],
        "the last line with its checksum": crc32(b"}", crc32(lines[-1][:-CRC_TAIL_BYTES], seeds[-1])),
        "an early line": seeds[5],
    }[follows]
    records = []
    for number in range(400, 404):
        line, seed = seal(bare(number)[:-1], seed)
        records.append(line[:-1])
    del records[2]  # the last one does not continue the one before it
    return records


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN.keys())
@pytest.mark.parametrize("follows", ["", "the last line", "the last line with its checksum", "an early line"])
def test_bare_messages_are_copied_as_if_each_was_looked_at(
    between: bytes, follows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what follows: records with checksums, and bare messages again."""
    lines = [*MANY, between, *[bare(number) for number in range(200, 300)]]
    with Spool() as spool:
        if follows:
            index = scanned(lines, spool, monkeypatch, closely=True)[2]
            lines += [*chained(index, lines, follows), *MANY[:3]]
        usual = scanned(lines, spool, monkeypatch, closely=False)
        assert usual == scanned(lines, spool, monkeypatch, closely=True)
    assert len(usual[0][1]) > 190
