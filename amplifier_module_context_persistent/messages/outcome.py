"""How a call ended, told from its result: answered, failed, or rejected by a person or a hook.

Tools have no common form for that. What is looked at, in this order: a flag of the message or of a block, fields of a
result that is a JSON object, and the fixed words with which tools and hosts begin or end such results. Words in the
middle of an output prove nothing: a log that is read may be full of errors, and the reading did not fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .command_outcome import CODES, answers_no
from .message import text_of
from .metadata import metadata_of

FAILED, REJECTED, ANSWERED = "failed", "rejected", "answered"

_REJECTED = re.compile(
    r"""
      (?:the\ )?user\ (?:does\ not|doesn't|did\ not|didn't)\ (?:want|approve|allow|permit)
    | (?:the\ )?user\ (?:has\ )?(?:rejected|denied|declined|cancelled|interrupted)
    | denied\ by\ (?:a\ )?(?:hook|user|policy|the\ user)
    | (?:tool\ (?:use|call)|request|operation)\ (?:was\ )?(?:rejected|denied|declined)
    | rejected\ by\ (?:the\ )?user
    | permission\ to\ use\ \S+\ (?:has\ been\ |was\ )?denied
    | (?:operation|request|command)\ (?:was\ )?(?:aborted|interrupted)(?:\ by\ (?:the\ )?user)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FAILED_HEAD = re.compile(
    r"error\b|fatal:|failed\b|failure\b|exception\b|traceback \(most recent|tool_use_error"
    r"|exit (?:code|status):? [1-9]|command (?:failed|exited with|timed out)|[a-z_.]*(?:error|exception):",
    re.IGNORECASE,
)
_FAILED_TAIL = re.compile(
    r"""
      (?:exit(?:ed\ with)?(?:\ code|\ status)|return\ ?code):?\ *[1-9]\d*[\])>.]?\s*\Z
    | command\ aborted\s*\Z
    | [1-9]\d*\ (?:failed|errors?)(?:,\ \d+\ \w+)*\ in\ [\d.]+\ ?m?s(?:\ \([\d:]+\))?[\s=]*\Z    # as pytest ends
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WRAPPING = re.compile(r"[\s<\[(*#`'\"]*")
_FLAGS = ("is_error", "isError")
_TAIL_CHARS = 160


def outcome_of(result: Mapping[str, Any], *, asks: bool = False) -> str:
    """Tell how the call ended that a result answers: `FAILED`, `REJECTED` or `ANSWERED`.

    Args:
        result: the message.
        asks: whether exit code 1 is an answer to the call (`command_outcome.asking_calls`).
    """
    outcome = _outcome(result)
    return ANSWERED if asks and outcome == FAILED and answers_no(result) else outcome


def _outcome(result: Mapping[str, Any]) -> str:
    text = text_of(result).strip()
    start = match.end() if (match := _WRAPPING.match(text)) else 0
    if _REJECTED.match(text, start):
        return REJECTED
    if _is_flagged(result) or _is_failed_object(result.get("content"), text):
        return FAILED
    if _FAILED_HEAD.match(text, start) or _FAILED_TAIL.search(text[-_TAIL_CHARS:]):
        return FAILED
    return ANSWERED


def _is_flagged(result: Mapping[str, Any]) -> bool:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    flagged = (result, metadata_of(result), *(block for block in blocks if isinstance(block, dict)))
    return any(part.get(flag) is True for part in flagged for flag in _FLAGS)


def _is_failed_object(content: Any, text: str) -> bool:
    """Whether a result is a JSON object, or the text of one, that says so."""
    if not isinstance(content, dict):
        if not text.startswith("{") or not text.endswith("}"):
            return False
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            return False
    if content.get("success") is False or any(content.get(flag) is True for flag in _FLAGS):
        return True
    codes = [content.get(code) for code in CODES]
    if any(type(code) is int and code != 0 for code in codes):
        return True
    return bool(content.get("error")) and content.get("success") is not True
