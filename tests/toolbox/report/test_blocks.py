"""Blocks of data: what is put in comes out."""

from __future__ import annotations

import base64
import gzip
import json

from amplifier_module_context_persistent.toolbox.report.history import BodyBlocks


def test_blocks_hold_whole_bodies_in_their_order() -> None:
    """Each can be decoded by itself; `starts` has the number of its first message."""
    bodies = [[["t", f"text {number} " * number]] for number in range(40)]
    blocks = BodyBlocks(block_bytes=500)
    for body in bodies:
        blocks.add(body)
    blocks.finish()
    parted = [json.loads(gzip.decompress(base64.b64decode(block))) for block in blocks.blocks]
    assert [body for part in parted for body in part] == bodies
    assert len(parted) == len(blocks.starts) > 5
    assert [sum(map(len, parted[:number])) for number in range(len(parted))] == blocks.starts
