"""What commands print."""

from click.testing import Result


def refused(done: Result) -> str:
    """The error of a command that did nothing; it is no traceback."""
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert "Error: " in done.stderr
    assert done.stdout == ""
    return " ".join(done.stderr.split())
