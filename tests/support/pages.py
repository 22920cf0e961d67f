"""A report read back without a browser: its data, its shell."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = re.compile(rb'<script type="text/plain" class="block">([^<]*)</script>')


@dataclass(frozen=True)
class ReadPage:
    """What stands in a report."""

    shell: str
    head: dict[str, Any]
    bodies: list[list[list[str]]]

    @property
    def text(self) -> str:
        """All that its messages say."""
        return json.dumps(self.bodies, ensure_ascii=False)


def read_page(path: str | Path) -> ReadPage:
    """Read a report."""
    content = Path(path).read_bytes()
    blocks = [json.loads(gzip.decompress(base64.b64decode(found[1]))) for found in BLOCK.finditer(content)]
    shell = content[: content.index(b'<script type="text/plain" class="block">')].decode()
    return ReadPage(shell, blocks[0], [body for block in blocks[1:] for body in block])
