"""Options for sealed files, which are encrypted with age: the public keys to encrypt for, and the private key."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ...catalogue.catalogue_file import switched_off
from ...paths import SEALED_ENDING
from .error_messages import show_as, unusable
from .terminal import counted, one_line

if TYPE_CHECKING:
    from pyrage import Recipient

R = TypeVar("R")

IDENTITY_VARIABLE = "CONTEXT_PERSISTENT_IDENTITY"
_IDENTITY = f"{__name__}.identity"


def identity_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--identity` to a command, which gets the path of the file with the private key, or None."""
    return click.option(
        "--identity",
        metavar="FILE",
        envvar=IDENTITY_VARIABLE,
        help="The file with the private key that opens a sealed file (age).",
    )(command)


def encrypt_to_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--encrypt-to` to a command, which gets the public keys as `recipients`."""
    return click.option(
        "--encrypt-to",
        "recipients",
        metavar="KEY",
        multiple=True,
        help="Seal the file for this public key (age1… or ssh-ed25519 …); repeatable.",
    )(command)


def reads_sealed(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--identity` to a command that only reads, so that a SESSION may be a sealed log."""

    def keep(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        context.meta[_IDENTITY] = value

    return click.option(
        "--identity",
        metavar="FILE",
        envvar=IDENTITY_VARIABLE,
        expose_value=False,
        callback=keep,
        help="The file with the private key, if SESSION is a sealed file (age).",
    )(command)


def plain_path(path: str) -> str:
    """Return a log's path, or for a sealed log the path of a plain copy, which exists while the command runs.

    No content of a sealed log is written to the catalogue.

    Raises:
        SealError: the command does not read sealed logs, no key was given, or the key does not open the log.
        OSError: the log or the key cannot be read, or there is no room for the copy.
    """
    if not path.endswith(SEALED_ENDING) or not os.path.isfile(path):
        return path
    from ..transfer.sealing import SealError, identities_in, opened_seal

    context = click.get_current_context()
    if _IDENTITY not in context.meta:
        raise SealError(
            "it is sealed, and this command opens no sealed files; `show --identity FILE` reads it, and "
            "`import --identity FILE` makes a session of it"
        )
    identity = context.meta[_IDENTITY]
    if identity is None:
        raise SealError("it is sealed; --identity FILE names the private key that opens it")
    opened = opened_seal(path, identities_in(identity))
    context.with_resource(switched_off())
    plain = context.with_resource(opened)
    show_as(plain, path)
    return plain


def sealed_files_in(directory: str) -> list[str]:
    """Return the paths of the sealed files in a directory and below it, sorted."""
    return sorted(map(os.fspath, Path(directory).rglob(f"*{SEALED_ENDING}")))


def how_to_read(directory: str) -> str:
    """Return how many sealed files a directory has, and the commands that read them; "" if it has none."""
    sealed = sealed_files_in(directory)
    if not sealed:
        return ""
    example = shlex.quote(one_line(sealed[0]))
    all_ = shlex.quote(one_line(directory))
    return (
        f"{counted(len(sealed), 'sealed file')} in {one_line(directory)}; "
        f"`context-persistent show {example} --identity KEY` shows one, and "
        f"`context-persistent import {all_} --identity KEY` makes sessions of all"
    )


def say_left_sealed(directories: Sequence[str]) -> None:
    """Print on the error stream that directories have sealed files, which were not read, and how to read them."""
    for directory in directories:
        how = how_to_read(directory)
        if how:
            click.echo(f"left out: {how}", err=True)


def public_keys(keys: Sequence[str]) -> list[Recipient]:
    """Return the public keys of `--encrypt-to`; an empty list if the option was not given.

    Raises:
        UnusableError: a key is not a public key, or the extra `seal` is not installed.
    """
    from ..transfer.sealing import recipients_of

    with unusable("--encrypt-to"):
        return recipients_of(keys) if keys else []
