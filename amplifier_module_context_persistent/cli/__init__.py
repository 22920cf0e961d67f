"""The `context-persistent` command, one file for each subcommand.

Rules of this package:
- Commands print and ask; public functions of the other packages compute what they show.
- Text from a session is escaped before it reaches a terminal (`terminal.escaped`).
- Exit codes are listed in `exit_codes`.
"""

from .main import main

__all__ = ["main"]
