"""Words for the room that a command needs on a disk, told before anything is written."""

from __future__ import annotations

from .session_rows import scaled


def lacks_room(needed_bytes: int, free_bytes: int | None) -> bool:
    """Return whether a command needs more bytes than are known to be free."""
    return free_bytes is not None and free_bytes < needed_bytes


def room_text(needed_bytes: int, free_bytes: int | None) -> str:
    """Return a sentence that says how much room is needed and free, and whether that is too little.

    Args:
        needed_bytes: the room that the command needs.
        free_bytes: the free room; None if it is not known.
    """
    needed = f"This needs up to {scaled(needed_bytes, 'kMGT')}B of room"
    if free_bytes is None:
        return f"{needed}."
    free = f"{scaled(free_bytes, 'kMGT')}B are free"
    if not lacks_room(needed_bytes, free_bytes):
        return f"{needed}; {free}."
    return f"NOT ENOUGH ROOM. {needed}; {free}. What does not fit is named and stays as it is."
