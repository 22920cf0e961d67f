"""Memory files: texts with which a new session begins, each as a stored system message."""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import MemoryFilesError
from ..installation import needed_packages
from ..messages.message import Message, metadata_of
from ..messages.metadata import MEMORY_FILE_SOURCE

logger = logging.getLogger(__name__)

_LABEL = "[Context from "


async def load_memory_files(paths: Sequence[str | os.PathLike[str]], base: str | None) -> list[Message]:
    """Read memory files as system messages `[Context from NAME]`. Unreadable files are skipped with a warning.

    The files may be on a slow disk, so they are not read on the event loop.

    Args:
        paths: the files; `~` expands.
        base: the directory of relative paths; by default the current directory.

    Raises:
        DependencyError: `aiofiles` is not installed where the host runs.
    """
    messages: list[Message] = []
    for named_path in paths:
        path = _place_of(named_path, base)
        try:
            text = await _text_of(path)
        except (OSError, UnicodeDecodeError) as error:
            logger.warning("the memory file %s is skipped: %s", path, error)
            continue
        if not text.strip():
            logger.warning("the memory file %s is skipped: it is empty", path)
            continue
        content = f"{_LABEL}{path.name}]\n\n{text}"
        metadata = {"source": MEMORY_FILE_SOURCE, "path": str(path)}
        messages.append({"role": "system", "content": content, "metadata": metadata})
    return messages


def _place_of(named_path: str | os.PathLike[str], base: str | None) -> Path:
    return Path(base or ".") / os.path.expanduser(named_path)


async def _text_of(path: Path) -> str:
    """Read a file.

    Raises:
        OSError: the file cannot be read, or is not a regular file (reading a FIFO would block).
        UnicodeDecodeError: the file is not UTF-8.
    """
    with needed_packages():
        import aiofiles  # a host may lack it, and needs it only for memory files
        import aiofiles.os

    if not stat.S_ISREG((await aiofiles.os.stat(path)).st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(path))
    async with aiofiles.open(path, encoding="utf-8") as file:
        text: str = await file.read()
        return text


def is_memory_file(message: Mapping[str, Any]) -> bool:
    """Return whether a message is a memory file, of this module or of the older one."""
    if message.get("role") != "system":
        return False
    content = message.get("content")
    labelled = isinstance(content, str) and content.startswith(_LABEL)
    return metadata_of(message).get("source") == MEMORY_FILE_SOURCE or labelled


def check_memory_files(messages: Sequence[Message], count: Callable[[Message], int], budget_tokens: int) -> None:
    """Refuse memory files that together are larger than the budget.

    Raises:
        MemoryFilesError: lists each file's tokens.
    """
    sizes = [(metadata_of(message)["path"], count(message)) for message in messages]
    total = sum(tokens for _, tokens in sizes)
    if total > budget_tokens:
        rows = "\n".join(f"  {tokens:>9,}  {path}" for path, tokens in sizes)
        raise MemoryFilesError(
            f"the memory files have {total:,} tokens together, and the budget is {budget_tokens:,}:\n{rows}\n"
            "Leave some out of memory_files, shorten them, or raise max_tokens."
        )
