"""Whether what a session or an extra needs is installed, and the command that installs it.

Hosts update a module's code and not always what it depends on. They also skip the installation where a package of the
same name was installed once, such as Microsoft's older module. A session must not end in a bare `No module named` then.

- A package that the way to a mounted session imports, now or at its first message, is checked here.
- Nothing but the standard library is imported here.
- No command names this package by itself: until it is published anybody could register its name. What is missing is
  installed from the checkout, or by the names of the packages that the extra consists of.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import DependencyError

_LATER = ("filelock", "tiktoken")
"""Packages that a session imports only after the mount."""


@contextmanager
def needed_packages(*later: str) -> Iterator[None]:
    """Import needed packages in a `with` block, with an error that names the command to install a missing package.

    Args:
        later: further packages that the configuration needs.

    Raises:
        DependencyError: a package is missing, or is too old to have what is imported of it.
    """
    try:
        yield
        missing = next((name for name in (*_LATER, *later) if find_spec(name) is None), None)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == __package__:
            raise
        raise DependencyError(_told(error.name or str(error))) from error
    if missing is not None:
        raise DependencyError(_told(missing))


def needs_extra(extra: str, package: str) -> str:
    """Return a line that says that a package of an extra is not installed, and which command installs the extra."""
    return f"{package} is not installed; the extra `{extra}` brings it: {extra_command(extra)}"


def extra_command(extra: str) -> str:
    """Return the command that installs an extra into this environment.

    If the package runs from a checkout, the command installs the checkout.
    """
    if _is_checkout():
        wanted = ["-e", _in_home(f"{_ROOT}[{extra}]")]
    else:
        wanted = [shlex.quote(package) for package in _packages_of(extra)]
    if find_spec("pip"):
        installer = [_in_home(sys.executable), "-m", "pip", "install"]
    else:
        installer = ["uv", "pip", "install", "-p", _in_home(sys.prefix)]
    return " ".join([*installer, *wanted])


def _packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra, without those for some Python versions only; [] if the extra is unknown."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("amplifier-module-context-persistent") or []
    except PackageNotFoundError:  # the package's directory was copied
        return []
    marked = (line.partition(";") for line in lines)
    return [
        name.strip() for name, _, marker in marked if re.fullmatch(rf"\s*extra\s*==\s*['\"]{extra}['\"]\s*", marker)
    ]


def _told(name: str) -> str:
    return (
        f"context-persistent needs {name}, which is missing or too old where the host runs ({sys.prefix}). "
        f"Install what it needs:\n{install_command(name)}"
    )


def install_command(name: str) -> str:
    """Return a short command, on one line, that installs the missing packages into the host's environment.

    A host wraps long lines, and a wrapped command cannot be copied. So the command names the environment instead of its
    interpreter, and only the missing packages. If many packages are missing, it installs the whole checkout.
    """
    package = name.partition(".")[0].replace("_", "-")
    missing = sorted({package, *filter(_is_missing, _declared())})
    installs_checkout = len(missing) > _FEW and _is_checkout()
    if installs_checkout:
        wanted = ["-e", _in_home(_ROOT)]
    else:
        wanted = [shlex.quote(missing_package) for missing_package in missing]
    upgrade = [] if _is_missing(package) else ["-U"]
    return " ".join(["uv", "pip", "install", *upgrade, "-p", _in_home(sys.prefix), *wanted])


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FEW = 3
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def _is_checkout() -> bool:
    return os.path.isfile(os.path.join(_ROOT, "pyproject.toml"))


def _declared() -> list[str]:
    """Return the packages that this checkout requires, without those for some Python versions only."""
    if not _is_checkout():
        return []
    import tomllib  # nobody needs it where nothing is missing

    with open(os.path.join(_ROOT, "pyproject.toml"), "rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    packages = list[str]()
    for requirement in needed:
        name = _NAME.match(requirement)
        if name and ";" not in requirement:
            packages.append(name[0])
    return packages


def _is_missing(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(package)
    except PackageNotFoundError:
        return True
    return False


def _in_home(path: str) -> str:
    """Return a path in the form for a shell, with `~` for the home directory."""
    home = os.path.join(os.path.expanduser("~"), "")
    below = path.removeprefix(home)
    return f"~/{shlex.quote(below)}" if below != path else shlex.quote(path)
