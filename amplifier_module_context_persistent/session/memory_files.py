"""Memory files: texts with which a new session begins, each as a stored system message."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import MemoryFilesError
from ..messages.message import Message
from ..messages.metadata import MEMORY_FILE_SOURCE, metadata_of

logger = logging.getLogger(__name__)

_LABEL = "[Context from "


def load_memory_files(paths: Sequence[str | os.PathLike[str]], base: str | None) -> list[Message]:
    """Read memory files as system messages `[Context from NAME]`; what cannot be read is skipped with a warning.

    Args:
        paths: the files; `~` expands.
        base: what relative paths are relative to; else the current directory.
    """
    messages: list[Message] = []
    for given in paths:
        path = Path(base or ".") / os.path.expanduser(given)
        try:
            text = path.read_text("utf-8")
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


def is_memory_file(message: Mapping[str, Any]) -> bool:
    """Whether a message is a memory file, ours or one of the older module."""
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
