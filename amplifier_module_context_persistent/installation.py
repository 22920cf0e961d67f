"""Whether what a session needs is installed where the host runs, and the command that installs it.

Hosts update a module's code and not always what it depends on. They also skip the installation where a package of the
same name was installed once, such as Microsoft's older module. A session must not end in a bare `No module named` then.

- A package that the way to a mounted session imports, now or at its first message, is checked here.
- Nothing but the standard library is imported here.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import DependencyError

_LATER = ("filelock", "tiktoken")
"""What a session imports after it was mounted."""


@contextmanager
def needed_packages() -> Iterator[None]:
    """Import within it what a session needs.

    Raises:
        DependencyError: a package is missing, or is too old to have what is imported of it.
    """
    try:
        yield
        missing = next((name for name in _LATER if find_spec(name) is None), None)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == __package__:
            raise
        raise DependencyError(_told(error.name or str(error))) from error
    if missing is not None:
        raise DependencyError(_told(missing))


def _told(name: str) -> str:
    return (
        f"context-persistent needs {name}, which is missing or too old where the host runs ({sys.prefix}). "
        f"Install what it needs: {install_command(name)}"
    )


def install_command(name: str) -> str:
    """The command that installs what is needed into the host's environment; without a checkout, one package."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    whole = os.path.isfile(os.path.join(root, "pyproject.toml"))
    wanted = ["--editable", root] if whole else [name.partition(".")[0].replace("_", "-")]
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, *wanted])
