"""`context-persistent checkpoint`: write the checkpoint of a log that has none, or an old one.

Exit codes: 0 written or not needed, 1 the log cannot have one now, 2 unusable.
"""

from __future__ import annotations

import click

from ..errors import ContextPersistentError
from ..log.checkpoint_file import SUFFIX, is_large, write_checkpoint
from ..log.filesystem import FileSystem
from ..log.location import stored_name
from ..log.not_a_log import check_is_log
from ..log.reader import LogReader
from .exit_codes import DONE, FINDINGS
from .progress import progress
from .session_argument import session_argument
from .terminal import UnusableError, counted, escaped, one_line, reason


@click.command()
@session_argument
@click.pass_context
def checkpoint(context: click.Context, path: str) -> None:
    """Let later commands and resumes open a log without reading all of it.

    Scans the log of SESSION and writes a file beside it, LOG.checkpoint: which messages there are and where they lie,
    and no content. Sessions write it themselves as they append; this is for
    logs that have none, or an old one. It is disposable: one that does not fit its log is not used, and it can be
    deleted at any time.
    """
    if stored_name(path) is not None:
        raise UnusableError(f"{one_line(path)}: a log in a database has columns in the place of a checkpoint")
    try:
        with progress(path, title="scanning") as files:
            said, done = _write(path, files)
    except (OSError, ContextPersistentError, ValueError) as error:
        raise UnusableError(f"{one_line(path)}: {reason(error)}") from error
    click.echo(escaped(f"{path}: {said}"))
    context.exit(DONE if done else FINDINGS)


def _write(path: str, files: FileSystem | None) -> tuple[str, bool]:
    """Write one; what came of it, and whether that is as it should be."""
    reader = LogReader(path, files=files, trusting=False)
    try:
        reader.follow()
        if reader.file.fd is None:
            raise FileNotFoundError(2, "there is no such file; check the path", path)
        check_is_log(reader)
        if not is_large(reader.size):
            return f"{reader.size:,} bytes are scanned as quickly without a checkpoint", True
        written = write_checkpoint(reader.file, reader.scanner, reader.known_end, anew=True)
        if not written:
            return "there is no checkpoint now; context-persistent --verbose says why", False
        return f"a checkpoint of {counted(len(reader.index), 'message')} is in {path}{SUFFIX}", True
    finally:
        reader.close()
