"""Blocks of data: what is put in comes out, from a file that does not stay."""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from pathlib import Path

import pytest

from amplifier_module_context_persistent.report.history import BodyBlocks


def test_blocks_lie_in_a_file_until_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds whole bodies in their order; the file has no name, and is closed in the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bodies = [[["t", f"text {number} " * number]] for number in range(40)]
    with BodyBlocks(block_bytes=500) as blocks:
        for body in bodies:
            blocks.add(body)
        blocks.finish()
        for _ in range(2):
            parted = [json.loads(gzip.decompress(base64.b64decode(block))) for block in blocks.blocks()]
            assert [body for part in parted for body in part] == bodies
        assert len(parted) == len(blocks.starts) > 5
        assert [sum(map(len, parted[:number])) for number in range(len(parted))] == blocks.starts
        assert [*tmp_path.iterdir()] == []
    with pytest.raises(ValueError, match="closed"):
        list(blocks.blocks())
