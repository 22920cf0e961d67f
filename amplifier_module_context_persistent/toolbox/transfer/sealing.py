"""Write and read sealed files: exports or whole logs, encrypted so that only the holder of a private key can read them.

They are files in the age format (https://age-encryption.org/v1), which other programs for age can read and write: `age
-d -i key.txt FILE.age`. All cryptography is done by the package `pyrage`, the extra `seal`.

- While content is sealed, it is never written to a disk as plain text.
- A file that was cut or altered is refused as a whole; age's own checks find this.
- A recipient is a public key: `age1…`, or a line of an SSH public key. An identity file holds private keys, one a line
  (`AGE-SECRET-KEY-1…`), as `age-keygen` writes it; or it is an SSH private key without a passphrase.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, BinaryIO

from ...errors import ContextPersistentError, DependencyError
from ...installation import needs_extra
from ...log.atomic_file import NewFile
from ...log.filesystem import open_regular
from ...paths import SEALED_ENDING
from .plain_copies import PrivateDirectory
from .zstandard import most_unpacked_bytes, opened_zstd, zstd

if TYPE_CHECKING:
    from pyrage import Identity, Recipient

HEAD_BYTES = 35
_HEADS = (b"age-encryption.org/v1\n", b"-----BEGIN AGE ENCRYPTED FILE-----")
_MOST_KEY_BYTES = 64 << 10
_BLOCK_BYTES = 1 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"


class SealError(ContextPersistentError, ValueError):
    """Raised if a key cannot be used, a file is not sealed for it, or a file was altered.

    The message repeats no part of a key.
    """


def is_sealed(begin: bytes) -> bool:
    """Return whether a file is encrypted with age, by its first `HEAD_BYTES` bytes."""
    return begin.startswith(_HEADS)


def recipients_of(keys: Iterable[str]) -> list[Recipient]:
    """Read public keys.

    Raises:
        SealError: a text is not a public key.
        DependencyError: the extra `seal` is not installed.
    """
    pyrage = _pyrage()
    found = []
    for key in keys:
        kind = pyrage.ssh if key.startswith("ssh-") else pyrage.x25519
        try:
            found.append(kind.Recipient.from_str(key.strip()))
        except pyrage.RecipientError as error:
            if key.startswith("AGE-SECRET-KEY-"):
                raise SealError(
                    "this is a private key; give the public one (age1…), and show this one nobody"
                ) from error
            raise SealError("not a public key of age (age1…) or SSH (ssh-ed25519 …)") from error
    return found


def identities_in(path: str) -> list[Identity]:
    """Read the private keys of a file.

    Raises:
        SealError: the file cannot be read, contains no private key, or is too large.
        DependencyError: the extra `seal` is not installed.
    """
    pyrage = _pyrage()
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise SealError(f"the key {path} cannot be read: {error.strerror}") from error
    if len(content) > _MOST_KEY_BYTES:
        raise SealError(f"{path} is no file of keys: it is too large")
    if content.startswith(b"-----BEGIN"):
        try:
            return [pyrage.ssh.Identity.from_buffer(content)]
        except pyrage.IdentityError as error:
            raise SealError(f"{path}: this SSH key cannot be used: only one without a passphrase can") from error
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    try:
        found = [pyrage.x25519.Identity.from_str(line) for line in lines if line and not line.startswith("#")]
    except pyrage.IdentityError as error:
        raise SealError(f"{path}: a line of it is no private key (AGE-SECRET-KEY-1…)") from error
    if not found:
        raise SealError(f"{path}: there is no private key (AGE-SECRET-KEY-1…) in it")
    return found


def seal_pieces(pieces: Iterable[bytes], new: NewFile, recipients: Sequence[Recipient]) -> None:
    """Encrypt bytes and write them to a new file, piece by piece.

    Raises:
        Exception: any error of the iterator.
        OSError: the file cannot be written.
    """
    pyrage = _pyrage()
    source = _Pieces(pieces)
    try:
        pyrage.encrypt_io(source, _Writer(new.write), recipients)
    except pyrage.EncryptError as error:
        raise (source.failed or OSError(str(error))) from error


def unseal(sealed: BinaryIO, plain: BinaryIO, identities: Sequence[Identity]) -> None:
    """Decrypt a file. If an exception is raised, the part of `plain` that was written must not be used.

    Raises:
        SealError: none of the keys opens the file, or it was cut or altered.
    """
    pyrage = _pyrage()
    try:
        pyrage.decrypt_io(sealed, plain, identities)
    except pyrage.DecryptError as error:
        raise SealError("it is sealed for another key than those given") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise SealError("it was cut or altered after it was sealed; nothing of it is used") from error


@contextmanager
def opened_seal(path: str, identities: Sequence[Identity]) -> Iterator[str]:
    """Yield the path of a plain copy of a sealed log.

    The copy is in a private directory, which is deleted after the block.

    Raises:
        SealError: none of the keys opens the file, it was cut or altered, or its content is damaged or too large.
        OSError: the file cannot be read, or there is no room for the copy.
    """
    with PrivateDirectory() as directory:
        name = os.path.basename(path).removesuffix(SEALED_ENDING)
        plain = directory.file(name.removesuffix(".zst"))
        packed = directory.file(f"{name}.packed")
        with open_regular(path) as sealed, directory.new_file(packed) as file:
            unseal(sealed, file, identities)
        _unpack(packed, plain, directory)
        yield plain


def _unpack(packed: str, plain: str, directory: PrivateDirectory) -> None:
    """Move a file to another path. A file that is compressed with zstd is decompressed.

    Raises:
        SealError: the content is damaged or too large.
    """
    with open(packed, "rb") as file:
        if file.read(len(_ZSTD)) != _ZSTD:
            os.rename(packed, plain)
            return
        file.seek(0)
        try:
            with opened_zstd(file) as content, directory.new_file(plain) as unpacked:
                _copy(content.read, unpacked, most_unpacked_bytes(os.path.getsize(packed)))
        except (EOFError, zstd.ZstdError) as error:
            raise SealError(f"what was sealed cannot be decompressed: {error}") from error
    os.remove(packed)


def _copy(read: Callable[[int], bytes], target: BinaryIO, most_bytes: int) -> None:
    """Write the blocks that `read` returns into a file, until `read` returns an empty one.

    Raises:
        SealError: that is more than `most_bytes` bytes.
    """
    while piece := read(_BLOCK_BYTES):
        target.write(piece)
        if target.tell() > most_bytes:
            raise SealError(f"it becomes more than {most_bytes:,} bytes; nothing that large is read")


class _Pieces(io.RawIOBase):
    """A file object to read from, over an iterator of bytes."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._waiting = bytearray()
        self.failed: BaseException | None = None
        """The error of the iterator, kept because `pyrage` reports only that reading failed; None if there was none."""

    def read(self, size: int = -1, /) -> bytes:
        try:
            while size < 0 or len(self._waiting) < size:
                self._waiting += next(self._pieces)
        except StopIteration:
            size = len(self._waiting) if size < 0 else size
        except BaseException as error:
            self.failed = error
            raise
        data = bytes(self._waiting[:size])
        del self._waiting[:size]
        return data


class _Writer:
    """A file object to write to, over a function that writes bytes."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, content: bytes) -> int:
        self._write(content)
        return len(content)

    def flush(self) -> None:
        """Do nothing: no bytes are buffered here."""


def _pyrage() -> Any:
    if find_spec("pyrage") is None:
        raise DependencyError(needs_extra("seal", "pyrage"))
    import pyrage  # an extra

    return pyrage
