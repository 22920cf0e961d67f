"""Replay: play a session under other policies, budgets and prices, and compare the results.

    from amplifier_module_context_persistent.toolbox.replay import open_transcript, replay, compare

Rule of this package: it reads only.
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
    """Import the interface when it is used: who needs one module here needs no manager and no event loop."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
