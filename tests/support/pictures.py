"""Images as tools give them: calls and results with screenshots, and the images that a view still shows."""

from fixtures.providers import image_block as block
from fixtures.providers import jpeg, png
from tests.support.messages import Message

__all__ = ["block", "images_in", "jpeg", "png", "screenshot", "shot"]


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
