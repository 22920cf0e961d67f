"""Any bytes as input to every command: a clear line and exit 2, or an account of what was read."""

import os
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.sweeps import proof

COMMANDS = {
    "show": ["show", "{}"],
    "search": ["search", "x", "{}"],
    "stats": ["stats", "{}"],
    "views": ["views", "{}"],
    "view": ["view", "{}"],
    "export": ["export", "{}"],
    "compare": ["compare", "{}"],
    "replay": ["replay", "{}"],
    "verify": ["verify", "{}"],
    "repair": ["repair", "--yes", "{}"],
    "purge": ["purge", "--everything", "--yes", "{}"],
    "delete": ["delete", "--yes", "{}"],
    "redact": ["purge", "--redact", "o", "--yes", "{}"],
    "fork": ["fork", "{}", "-o", "{}.new"],
    "import": ["import", "{}", "-o", "{}.new"],
    "list": ["list", "{}"],
    "tail": ["tail", "{}"],
}
STRANGE = {
    "binary": bytes(range(256)) * 400,
    "text": b"# A heading\n\nand text\n" * 40,
    "passwords": b"root:$6$abc:19000:0:99999:7:::\n" * 30,
    "one long line": b"a" * 3_000_000,
    "other JSON lines": b'{"a": 1}\n{"b": 2}\n',
}


def run(command: str, path: Path, code: int | None) -> str:
    arguments = [argument.format(path) for argument in COMMANDS[command]]
    return commands.run(*arguments, code=code).output


@proof(quick=1)
@pytest.mark.parametrize("kind", [*STRANGE, "directory", "fifo", "link", "missing"])
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, kind: str) -> None:
    """By every command with exit 2 and a few lines that name it; it is not touched, and nothing is made beside it."""
    path = tmp_path / "given"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / "not given")
    elif kind != "missing":
        path.write_bytes(STRANGE[kind])
    assert kind != "directory" or run("list", path, 0) == "no sessions\n"
    for command in (one for one in COMMANDS if (kind, one) != ("directory", "list")):
        output = run(command, path, 2)
        assert "given" in output or (kind, command) == ("directory", "import")  # refused by its options already
        assert (len(output.splitlines()) <= 6, len(output) < 1_000) == (True, True), command
        assert os.listdir(tmp_path) == ([] if kind == "missing" else ["given"]), command
        assert kind not in STRANGE or path.read_bytes() == STRANGE[kind], command
