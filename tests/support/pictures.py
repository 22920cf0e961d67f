"""Images as tools give them: real headers of PNG and JPEG files, and bytes after them that no two images share."""

import base64
import random
import struct
import zlib

from tests.support.messages import Message


def png(width: int, height: int, size_bytes: int, seed: int = 0) -> bytes:
    """A PNG file of that many bytes: its signature and header, and one chunk of noise."""
    body = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    header = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + body + struct.pack(">I", zlib.crc32(b"IHDR" + body))
    )
    return header + random.Random(seed).randbytes(max(0, size_bytes - len(header)))


def jpeg(width: int, height: int, size_bytes: int, seed: int = 0) -> bytes:
    """A JPEG file of that many bytes: a colour profile's segment, the frame header, and noise."""
    profile = b"\xff\xe2" + struct.pack(">H", 202) + b"\0" * 200
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    head = b"\xff\xd8" + profile + frame
    return head + random.Random(seed).randbytes(max(0, size_bytes - len(head)))


def block(data: bytes, media_type: str = "image/png") -> Message:
    """An image block."""
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def screenshot(number: int, *, size_bytes: int = 3_000, width: int = 1280, height: int = 720) -> Message:
    """The image that a tool's result number so-and-so holds."""
    return block(png(width, height, size_bytes, seed=number))


def shot(number: int, **image: int) -> list[Message]:
    """A call and its result: a line of text and a screenshot."""
    call = {"id": f"c{number}", "tool": "screenshot", "arguments": {"page": number}}
    content = [{"type": "text", "text": f"Screenshot {number}."}, screenshot(number, **image)]
    return [
        {"role": "assistant", "content": f"Look at page {number}.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "name": "screenshot", "content": content},
    ]


def images_in(view: list[Message]) -> list[str]:
    """The data of the images in a view, in order."""
    blocks = [one for message in view if isinstance(message["content"], list) for one in message["content"]]
    return [one["source"]["data"] for one in blocks if one["type"] == "image"]
