"""The `context-persistent` command, one file for each subcommand.

Rules of this package:
- Commands only print and ask questions; functions of the other packages compute the results.
- Text from a session is escaped before it reaches a terminal (`terminal.escaped`).
- Exit codes are listed in `exit_codes`.

Where things are done:
- which module has which command: `command_table`; commands in files of other names: `repair` in `verify_and_repair`,
  `views` in `view`, `reports` in `report`, `rename` and `tag` in `label`, `show-again` in `hide`;
- which session: `session_argument`, picked from a list by `pick_session`; which sessions: `filter_options`; which turns
  or messages: `ranges`; after Tab: `completion`; from a replica: `read_from_replica`;
- what erasing commands share: `erasing`; the question before it: `confirm`; whole sessions: `delete_listed`;
- how a command ends: `main`, also by Ctrl-C or a closed pipe (`_ending`); the numbers: `exit_codes`; errors:
  `error_messages`, wrong options and commands: `usage_errors`;
- printing: `terminal`, tables and money by `tables` and `amounts`, messages by `message_printer`, matches by
  `match_printer`; progress: `progress`; long output: `pager`.
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
