"""What another policy would have done: play a session under other policies, budgets and prices.

    from amplifier_module_context_persistent.replay import open_transcript, replay, compare

Rules of this package:
- Reads only. `checker` shares no code with the engine that it checks.
"""

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
