"""Vocabularies for exact counts: their names, and their places on this machine.

Rules of this module:

- This module reads a vocabulary's file itself, and uses the file only if its SHA-256 is the published one. tiktoken's
  own loader downloads every file that is missing, so it is called only if a download is requested.
- A file is looked for in tiktoken's cache, then in the installed package `bpe-openai` (the extra `exact`), whose wheel
  contains the files. That package is never imported: only its files are used, and tiktoken counts.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.util
import logging
import os
import tempfile
import threading
import zlib
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import tiktoken

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A published vocabulary: its file's name, its SHA-256, and the pattern that splits a text before merging."""

    file: str
    sha256: str
    pattern: str


# Source: `tiktoken_ext/openai_public.py`.
_URL: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_O200K: Final = Vocabulary(
    "o200k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
)
VOCABULARIES: Final[Mapping[str, Vocabulary]] = {
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,  # differs only in special tokens, which are counted as ordinary text
    "cl100k_base": Vocabulary(
        "cl100k_base",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s",
    ),
}
"""The known encodings, by name."""

_LOADING = threading.Lock()


def cache_path(vocabulary: Vocabulary) -> str:
    """Return the path of a vocabulary in tiktoken's cache; "" if the cache is switched off.

    Source: `tiktoken/load.py`, `read_file_cached`: in the directory of the first variable that is set, or else
    `data-gym-cache` in the temporary directory, by the SHA-1 of the address.
    """
    directory = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if directory is None:
        directory = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    key = hashlib.sha1(_URL.format(vocabulary.file).encode(), usedforsecurity=False).hexdigest()
    return os.path.join(directory, key) if directory else ""


def load_encoding(name: str) -> tiktoken.Encoding | None:
    """Return the named encoding if its vocabulary is on this machine, else `None`.

    The network is not used. The first call takes about a quarter of a second; a process loads each vocabulary once.
    """
    vocabulary = VOCABULARIES[name]
    with _LOADING:  # other threads wait while one thread loads the vocabulary
        encodings = (_read_encoding(path, vocabulary) for path in _paths(vocabulary))
        return next((encoding for encoding in encodings if encoding is not None), None)


def load_early(tokenizer: str) -> None:
    """Start a thread that loads the vocabulary of a configured tokenizer, if the vocabulary is on this machine."""
    name = "o200k_base" if tokenizer == "auto" else tokenizer
    if name in VOCABULARIES and is_at_hand(name):
        threading.Thread(target=load_encoding, args=(name,), name=f"vocabulary-{name}", daemon=True).start()


def is_at_hand(name: str) -> bool:
    """Return whether a file with the vocabulary of an encoding is on this machine; the file is not read."""
    return bool(_paths(VOCABULARIES[name]))


def _paths(vocabulary: Vocabulary) -> list[str]:
    """Return the paths of the files that may contain a vocabulary."""
    return list(filter(os.path.isfile, [cache_path(vocabulary), *_package_paths(vocabulary)]))


def _package_paths(vocabulary: Vocabulary) -> list[str]:
    package = importlib.util.find_spec("bpe_openai")
    directories = package.submodule_search_locations if package is not None else None
    return [os.path.join(directory, "data", f"{vocabulary.file}.tiktoken.gz") for directory in directories or ()]


@functools.lru_cache(maxsize=8)
def _read_encoding(path: str, vocabulary: Vocabulary) -> tiktoken.Encoding | None:
    """Return the encoding in a vocabulary's file, packed or not.

    The result is None if the file cannot be read, or is not the published file.
    """
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error):
        return None
    if hashlib.sha256(content).hexdigest() != vocabulary.sha256:
        logger.warning("vocabulary %s: not the published one (its SHA-256 differs); it is not used", path)
        return None
    import tiktoken  # imported here, because sessions that use the estimate do not need it

    ranks = dict[bytes, int]()
    for line in content.splitlines():
        if line:
            token, rank = line.split()
            ranks[b64decode(token)] = int(rank)
    return tiktoken.Encoding(vocabulary.file, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})


def download_encoding(name: str, timeout_s: float) -> tiktoken.Encoding | None:
    """Let tiktoken download a vocabulary, and return its encoding; `None` if that fails or takes more than `timeout_s`.

    The call blocks for up to `timeout_s` seconds. The download runs in a thread of its own, which is not stopped after
    that time. tiktoken sets no time limits, so the thread may never end.
    """
    encodings: list[tiktoken.Encoding] = []

    def download() -> None:
        import tiktoken

        try:
            encodings.append(tiktoken.get_encoding(name))
        except (OSError, ValueError) as error:  # the errors of requests are OSErrors; a wrong SHA-256 is a ValueError
            logger.info("vocabulary %s: the download failed: %s", name, error)

    thread = threading.Thread(target=download, name=f"vocabulary-{name}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return encodings[0] if encodings else None
