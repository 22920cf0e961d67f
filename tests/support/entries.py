"""Entries of a view written as short words.

`u` is a human's message, `r` a reminder, `s` system text, `a` an assistant's word, `c:x+y` calls, `t:x` a result, `b` a
blank message; a `!` after it pins it, and `#x` closes its call.
"""

from amplifier_module_context_persistent.messages.message import Call
from amplifier_module_context_persistent.view.entry import Entry

ROLES = {"u": "user", "r": "user", "s": "system", "a": "assistant", "c": "assistant", "t": "tool", "b": "user"}


def entry(key: int, word: str) -> Entry:
    word, _, closed = word.partition("#")
    kind, _, ids = word.rstrip("!").partition(":")
    return Entry(
        key,
        f"m{key}",
        ROLES[kind],
        10,
        human=kind == "u",
        pinned=word.endswith("!"),
        blank=kind == "b",
        calls=tuple(Call(call_id, "bash") for call_id in ids.split("+")) if kind == "c" else (),
        closed=frozenset(closed.split("+")) if closed else frozenset(),
        result_of=ids if kind == "t" else None,
    )


def entries(words: str) -> list[Entry]:
    return [entry(key, word) for key, word in enumerate(words.split())]
