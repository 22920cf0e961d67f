"""Replay: play a session under other policies, budgets and prices, and compare the results.

To play a session means to pass its messages to a policy one by one, and to ask the policy for a view (the messages to
send) before each assistant message. A policy decides how a view is made when the history is too large.

    from amplifier_module_context_persistent.toolbox.replay import open_transcript, replay, compare

Rule of this package: it never writes to a session.

Where things are done:
- functions for programs: `api`; one session under one policy: `play_session`; the policies: `policies`;
- what is measured, such as the cost, and requests that break the provider's cache (`breaks_cache`): `measures`; whether
  a view still shows what an action needs: `evidence`; what became of each message: `visibility`;
- in the session's own rhythm, for `context-persistent replay`: `pace`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (
        Compacted,
        Comparison,
        Marks,
        Measures,
        Played,
        PolicyError,
        Prices,
        Proof,
        Replayed,
        Run,
        Seen,
        SessionNameError,
        Transcript,
        Turn,
        compare,
        open_transcript,
        play,
        replay,
        requests,
    )

__all__ = [
    "Compacted",
    "Comparison",
    "Marks",
    "Measures",
    "Played",
    "PolicyError",
    "Prices",
    "Proof",
    "Replayed",
    "Run",
    "Seen",
    "SessionNameError",
    "Transcript",
    "Turn",
    "compare",
    "open_transcript",
    "play",
    "replay",
    "requests",
]


def __getattr__(name: str) -> Any:
    """Import the public interface at its first use, so that importing one module here loads no manager and no asyncio.

    Raises:
        AttributeError: the package has no such name.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
