"""The `context-persistent` command, one file for each subcommand.

Rules of this package:
- Subcommands print and ask; what they show is computed by public functions of the other packages.
- What comes from a session reaches a terminal escaped (`terminal.escaped`).
- Exit codes: 0 done, 1 something could not be read or was found, 2 nothing was done, 130 interrupted.
"""

from .main import main

__all__ = ["main"]
