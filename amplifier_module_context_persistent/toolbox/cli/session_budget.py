"""The budget under which a session is played again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...sessions.transcript import Transcript

DEFAULT_BUDGET_TOKENS = 200_000
"""The budget under which policies are played if none is given and the session has no receipt."""


def session_budget(transcript: Transcript) -> int:
    """Return the budget in tokens of a session's last request, or the default budget without receipts."""
    if not transcript.has_requests():
        return DEFAULT_BUDGET_TOKENS
    budget_tokens = 0
    for request in transcript.requests():
        budget_tokens = request.receipt.budget_tokens
    return budget_tokens if budget_tokens > 0 else DEFAULT_BUDGET_TOKENS
