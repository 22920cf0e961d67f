"""The file of an archived log: zstd frames of whole lines, with an index at the end (docs/format.md has the layout).

The file is a sequence of zstd frames, so that `zstd -dc` gives the log back byte for byte. Our own data are in
skippable frames. The file begins with an empty frame, so that every version of this package takes it for a compressed
file and refuses to read it as a log or to append to it. It ends with LF, so that its end is not taken for a torn line.

Each frame is described twice: right before it, and in the index. So a damaged index loses nothing, and a damaged frame
only its own content. The file is recognised by its beginning or by its end. The module itself does no I/O. zstd is
imported at its first use, since few sessions need it.
"""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from zlib import crc32

import orjson

from ..errors import DependencyError, LogUnreadableError
from ..installation import install_command
from .checksum import CRC_TAIL_BYTES, continues, has_crc, seal, stored_crc

FRAME_BYTES = 1 << 20
"""The approximate number of a log's bytes in one frame."""
LEAST_FRAME_BYTES = 256 << 10
MOST_FRAME_BYTES = 128 << 20
"""A longer line is cut into several frames."""
_LEVEL = 6  # measured on 20 real sessions: .218 of their size at 106 MB/s; 9: .214 at 66; 3: .233 at 236; 15: .211 at 9

_EMPTY_FRAME = b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"
_SKIPPABLE = b"\x5c\x2a\x4d\x18"  # the first bytes of a frame that decompressors pass over
_NAME = b"context-persistent archive "
_VERSION = b"1\n"
_BEFORE_VERSION = _EMPTY_FRAME + _SKIPPABLE + struct.pack("<I", len(_NAME + _VERSION)) + _NAME
HEAD = _BEFORE_VERSION + _VERSION
"""The first bytes of an archive."""
_END = re.compile(rb'\{"archive_end":\[(\d{1,18}),(\d{1,18})\],"_crc":"[0-9a-f]{8}"\}\n\Z')
_MOST_END_BYTES = 96
HEAD_BYTES = 8
"""The length of the head of a skippable frame."""
_MOST_ENTRY_BYTES = 1 << 10

ReadAt = Callable[[int, int], bytes]
"""A function that reads bytes of a file, given the largest number of bytes and an offset."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of an archive (a compressed block of lines), and the part of the log in it."""

    at: int
    """The offset of the compressed bytes in the file."""
    packed_bytes: int
    offset: int
    """The offset in the plain log at which the part begins."""
    size: int
    line: int
    """The number of lines of the log before the frame."""
    lines: int
    """The number of lines that end in the frame."""
    seed: int
    """The checksum chain before its first line; `next_seed` is the chain after its last line."""
    next_seed: int
    crc: int
    """CRC-32 of the compressed bytes."""
    log_bytes: int
    """The length of the whole log."""

    @property
    def end(self) -> int:
        """The offset in the plain log at which the part ends."""
        return self.offset + self.size

    @property
    def is_lost(self) -> bool:
        """Whether only its part of the log is known, because its description is damaged or missing."""
        return self.crc < 0

    def entry(self) -> bytes:
        """Encode the frame's description as a line."""
        chain = [f"{self.seed:08x}", f"{self.next_seed:08x}"]
        description = {
            "frame": self.packed_bytes,
            "crc": f"{self.crc:08x}",
            "offset": self.offset,
            "size": self.size,
            "line": self.line,
            "lines": self.lines,
            "chain": chain,
            "of": self.log_bytes,
        }
        return sealed(description)


@dataclass(frozen=True, slots=True)
class ArchiveIndex:
    """The frames of an archive, in order."""

    frames: list[Frame]
    size: int
    """The length of the log."""
    sha256: str = ""
    """SHA-256 of the whole log; "" if the index is damaged."""
    damage: str = ""
    """The damage of the archive's index; "" if the index is sound."""


def zstd() -> ModuleType:
    """Import and return the zstd library: the standard one since Python 3.14, else the package backports-zstd.

    Raises:
        DependencyError: the package is not installed.
    """
    try:
        from compression import zstd as library  # type: ignore[import-not-found]  # from 3.14 on
    except ImportError:
        try:
            from backports import zstd as library
        except ImportError as error:
            command = install_command("backports_zstd")
            why = f"an archived log is read with backports-zstd, which is not installed; install it: {command}"
            raise DependencyError(why) from error
    found: ModuleType = library
    return found


def is_archive(read: ReadAt, file_bytes: int, path: str) -> bool:
    """Return whether a file is an archived log. It is one too if its beginning is damaged and its end is not.

    Args:
        read: reads bytes of the file.
        file_bytes: the length of the file.
        path: the path of the file, for errors.

    Raises:
        LogUnreadableError: it is an archive of a later version.
        OSError: the system refuses.
    """
    first = read(len(HEAD), 0)
    if first == HEAD:
        return True
    if first.startswith(b"{") or file_bytes < len(HEAD):
        return False
    if _end_of(read, file_bytes) is not None:
        return True
    if first.startswith(_BEFORE_VERSION):
        reason = "a later version of this package archived the log; use that one"
        raise LogUnreadableError(errno.EINVAL, reason, path)
    return False


def is_cut_in_head(first: bytes) -> bool:
    """Return whether a file is an archive that ends within its head, given the file's first bytes."""
    return len(_EMPTY_FRAME) <= len(first) < len(HEAD) and HEAD.startswith(first)


def sealed(description: dict[str, Any]) -> bytes:
    """Encode an object as a line with LF and a checksum that covers only this line."""
    return seal(orjson.dumps(description)[:-1], 0)[0]


def skippable(content: bytes) -> bytes:
    """Return a frame with this content, of a kind that decompressors skip."""
    return skippable_head(len(content)) + content


def skippable_head(size: int) -> bytes:
    """Return the head of a frame that decompressors skip; `size` is the number of bytes of its content."""
    return _SKIPPABLE + struct.pack("<I", size)


def compressed(content: bytes) -> bytes:
    """Compress bytes into one frame, which has a checksum of its content."""
    library = zstd()
    parameter = library.CompressionParameter
    options = {parameter.compression_level: _LEVEL, parameter.checksum_flag: 1}
    packed: bytes = library.compress(content, options=options)
    return packed


def decompressed(frame: Frame, packed: bytes) -> bytes:
    """Return the decompressed content of a frame, given its compressed bytes.

    Raises:
        ValueError: the frame is damaged; the text says how.
    """
    if len(packed) != frame.packed_bytes or crc32(packed) != frame.crc:
        raise ValueError("its compressed bytes were changed")
    return unpack(packed, frame.size)


def unpack(packed: bytes, size: int) -> bytes:
    """Decompress the result of `compressed`; `size` is the expected number of decompressed bytes.

    Raises:
        ValueError: the bytes are damaged; the text says how.
    """
    library = zstd()
    try:
        if library.get_frame_info(packed).decompressed_size != size:
            raise ValueError("it holds another number of bytes than the index says")
        content: bytes = library.decompress(packed)
    except library.ZstdError as error:
        raise ValueError(f"it cannot be decompressed ({error})") from error
    return content


def stand_in(frame: Frame, explanation: bytes) -> bytes:
    """Return a replacement for the content of a damaged frame: an unreadable line, and empty lines for the rest.

    So all other lines keep their numbers and offsets. The first line has the checksum that the next record continues,
    and empty lines do not change it. So only the lost lines are reported.

    Args:
        frame: the damaged frame.
        explanation: the text of the unreadable line.
    """
    checksum = b',"_crc":"%08x"}' % frame.next_seed
    line_ends = b"\n" * frame.lines
    line_bytes = frame.size - len(line_ends)  # all bytes beside the line ends are in the first line
    is_too_short = line_bytes < len(checksum)
    if is_too_short:
        return b" " * line_bytes + line_ends
    text_bytes = line_bytes - len(checksum)
    text = explanation[:text_bytes].ljust(text_bytes)
    return text + checksum + line_ends


def frame_of_part(content: bytes, last: Frame | None, log_bytes: int) -> tuple[Frame, bytes]:
    """Compress a part of a log; return its frame, whose place in the file is not set yet, and the compressed bytes.

    Args:
        content: whole lines, with their LF.
        last: the frame before this part; None for the first part of a log.
        log_bytes: the length of the whole log.
    """
    offset = line = seed = 0
    if last is not None:
        offset = last.end
        line = last.line + last.lines
        seed = last.next_seed
    packed = compressed(content)
    frame = Frame(
        at=0,
        packed_bytes=len(packed),
        offset=offset,
        size=len(content),
        line=line,
        lines=content.count(b"\n"),
        seed=seed,
        next_seed=chain_after(content, seed),
        crc=crc32(packed),
        log_bytes=log_bytes,
    )
    return frame, packed


def chain_after(content: bytes, seed: int) -> int:
    """Return the checksum after the lines of `content`. The next record continues it.

    `seed` is the checksum before these lines.
    """
    lines = content.removesuffix(b"\n").split(b"\n")
    without_checksum = 0  # the number of such lines at the end
    for line in reversed(lines):
        if has_crc(line):
            seed = stored_crc(line) or 0
            break
        without_checksum += 1
    for line in lines[len(lines) - without_checksum :]:
        seed = crc32(line, seed)
    return seed


def index_bytes(frames: list[Frame], sha256: str, offset: int) -> bytes:
    """Encode the index of an archive. The index is the end of the file, and begins at `offset`."""
    size = frames[-1].end if frames else 0
    total = sealed({"frames": len(frames), "size": size, "sha256": sha256})
    entries = b"".join([frame.entry() for frame in frames]) + total
    end = sealed({"archive_end": [offset + HEAD_BYTES, len(entries)]})
    return skippable(entries + end)


def read_index(read: ReadAt, file_bytes: int, path: str) -> ArchiveIndex:
    """Read the index of an archive. If the index is damaged, make one from the descriptions before the frames.

    Raises:
        LogUnreadableError: no part of the archive can be read.
        OSError: the system refuses.
    """
    try:
        return _index_at_end(read, file_bytes)
    except (ValueError, KeyError, TypeError) as error:
        frames = list(_walked(read, file_bytes))
        if not frames:
            reason = (
                f"the log is archived, and neither its index nor a frame can be read ({error}); put a backup in its "
                "place, or remove the file"
            )
            raise LogUnreadableError(errno.EIO, reason, path) from error
        return ArchiveIndex(frames, frames[-1].end, damage=f"the index cannot be read ({error})")


def _end_of(read: ReadAt, file_bytes: int) -> re.Match[bytes] | None:
    """Return the last line of an archive, matched by `_END`; None if the file ends in another way."""
    end = read(min(_MOST_END_BYTES, file_bytes), max(0, file_bytes - _MOST_END_BYTES))
    found = _END.search(end)
    if found is not None and is_sealed(found[0]):
        return found
    return None


def _index_at_end(read: ReadAt, file_bytes: int) -> ArchiveIndex:
    found = _end_of(read, file_bytes)
    if found is None:
        raise ValueError("its last line is not the end of an archive")
    index_offset = int(found[1])
    index_bytes = int(found[2])
    if index_offset + index_bytes + len(found[0]) != file_bytes:
        raise ValueError("the file is longer or shorter than its last line says")
    *lines, last, rest = read(index_bytes, index_offset).split(b"\n")
    if rest or not all(is_sealed(line + b"\n") for line in [*lines, last]):
        raise ValueError("a line of it is damaged")
    frames = list[Frame]()
    frames_end = len(HEAD)
    log_end = 0
    for line in lines:
        frame = frame_of_entry(line, frames_end + HEAD_BYTES + len(line) + 1)
        if frame.offset != log_end:
            raise ValueError("its frames do not follow each other")
        frames.append(frame)
        frames_end = frame.at + frame.packed_bytes
        log_end = frame.end
    total = orjson.loads(last)
    has_all_frames = total["frames"] == len(frames) and total["size"] == log_end
    if not has_all_frames or frames_end != index_offset - HEAD_BYTES:
        raise ValueError("its frames are not all of the file")
    return ArchiveIndex(frames, log_end, str(total["sha256"]))


def frame_of_entry(line: bytes, file_offset: int) -> Frame:
    """Parse the description of a frame; `file_offset` is the offset of its compressed bytes in the file.

    Raises:
        ValueError, KeyError, TypeError: the line is not a description.
    """
    description = orjson.loads(line)
    seed, next_seed = description["chain"]
    frame = Frame(
        at=file_offset,
        packed_bytes=description["frame"],
        offset=description["offset"],
        size=description["size"],
        line=description["line"],
        lines=description["lines"],
        seed=int(seed, 16),
        next_seed=int(next_seed, 16),
        crc=int(description["crc"], 16),
        log_bytes=description["of"],
    )
    figures = (frame.packed_bytes, frame.offset, frame.size, frame.line)
    if not all(type(figure) is int and figure >= 0 for figure in figures):
        raise ValueError("a frame has no place")
    if frame.size > MOST_FRAME_BYTES + FRAME_BYTES or not 0 <= frame.lines <= frame.size:
        raise ValueError("a frame is larger than any may be")
    return frame


def _walked(read: ReadAt, file_bytes: int) -> Iterator[Frame]:
    """Yield the frames of an archive, found by the descriptions before them.

    Bytes between two frames give a damaged frame.
    """
    last = no_frame(len(HEAD))
    place = _next_entry(read, len(HEAD), file_bytes)
    while place < file_bytes:
        head = read(HEAD_BYTES, place)
        line = read(struct.unpack("<I", head[4:])[0], place + HEAD_BYTES)
        frame = frame_of_entry(line, place + HEAD_BYTES + len(line))
        if frame.offset < last.end:  # a copy of another description
            place = _next_entry(read, place + len(_SKIPPABLE), file_bytes)
            continue
        if frame.offset > last.end:
            yield lost_frame(last, frame)
        yield frame
        last = frame
        place = _next_entry(read, frame.at + frame.packed_bytes, file_bytes)
    if last.end < last.log_bytes:
        yield lost_frame(last, replace(no_frame(file_bytes), offset=last.log_bytes, log_bytes=last.log_bytes))


def no_frame(file_offset: int) -> Frame:
    """Return an empty frame at an offset of the file, for use as the neighbour of a lost frame."""
    return Frame(
        at=file_offset, packed_bytes=0, offset=0, size=0, line=0, lines=0, seed=0, next_seed=0, crc=0, log_bytes=0
    )


def lost_frame(before: Frame, after: Frame) -> Frame:
    """Return a damaged frame that replaces all frames between two others."""
    at = before.at + before.packed_bytes
    line = before.line + before.lines
    size = after.offset - before.end
    lines = max(0, after.line - line)
    return Frame(
        at=at,
        packed_bytes=max(0, after.at - at),
        offset=before.end,
        size=size,
        line=line,
        lines=min(size, lines),
        seed=before.next_seed,
        next_seed=after.seed,
        crc=-1,
        log_bytes=after.log_bytes,
    )


def _next_entry(read: ReadAt, place: int, file_bytes: int) -> int:
    """Return the offset of the next frame's description at or after `place`; the file's size if there is none."""
    while place < file_bytes:
        block = read(FRAME_BYTES, place)
        found = block.find(_SKIPPABLE)
        if found < 0:
            place += max(1, len(block) - len(_SKIPPABLE) + 1)
            continue
        place += found
        head = read(HEAD_BYTES + _MOST_ENTRY_BYTES, place)
        if len(head) > HEAD_BYTES:
            size = struct.unpack("<I", head[4:HEAD_BYTES])[0]
            line = head[HEAD_BYTES : HEAD_BYTES + size]
            if 0 < size <= _MOST_ENTRY_BYTES and line.startswith(b'{"frame":') and is_sealed(line):
                return place
        place += len(_SKIPPABLE)
    return file_bytes


def is_sealed(line: bytes) -> bool:
    """Return whether a line ends with LF, and has the correct checksum of this line alone (with the seed 0)."""
    content = line.removesuffix(b"\n")
    stored = stored_crc(content)
    return line.endswith(b"\n") and stored is not None and continues(content[:-CRC_TAIL_BYTES], stored, 0)
