"""The `context-persistent` command, one file for each subcommand.

Rules of this package:
- Commands only print and ask questions; functions of the other packages compute the results.
- Text from a session is escaped before it reaches a terminal (`terminal.escaped`).
- Exit codes are listed in `exit_codes`.
"""

try:
    from .main import main
except KeyboardInterrupt:  # Ctrl-C while Python still imports
    raise SystemExit(130) from None
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    import sys

    from ...installation import needs_extra

    sys.stderr.write(f"context-persistent: {needs_extra('cli', 'click')}\n")
    raise SystemExit(2) from None

__all__ = ["main"]
