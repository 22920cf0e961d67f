"""Reminders: texts of programs in messages of the role `user`, between tags that models are trained on."""

from __future__ import annotations

from .message import Message, text_of

REMINDER_PREFIX = "<system-reminder"
_OPENS, _CLOSES = "<system-reminder>", "</system-reminder>"


def as_reminder(message: Message) -> Message:
    """Return a system message as a new message of the role `user`, with reminder tags around its text.

    The message is in the form that `normalise` returns. A text that already is a reminder gets no second tags.
    """
    content = message["content"]
    if text_of(message).lstrip().startswith(REMINDER_PREFIX):
        return {**message, "role": "user"}
    if isinstance(content, str):
        return {**message, "role": "user", "content": f"{_OPENS}\n{content}\n{_CLOSES}"}
    opens, closes = ({"type": "text", "text": tag} for tag in (_OPENS, _CLOSES))
    return {**message, "role": "user", "content": [opens, *content, closes]}
