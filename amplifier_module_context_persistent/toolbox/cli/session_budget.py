"""The budget under which a session is played again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...sessions.transcript import Transcript

DEFAULT_BUDGET_TOKENS = 200_000
"""The budget under which policies are played if none is given and the session has no receipt."""


def session_budget(transcript: Transcript) -> int:
    """Return the budget in tokens of a session's last request, or the default budget without receipts."""
    receipts = [noted.receipt for noted in transcript.requests()] if transcript.has_requests() else []
    return receipts[-1].budget_tokens if receipts and receipts[-1].budget_tokens > 0 else DEFAULT_BUDGET_TOKENS
