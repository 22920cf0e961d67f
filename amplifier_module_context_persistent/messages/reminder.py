"""System text as a user's message: `late_system: reminder`.

Providers move system messages before all others, so that a late one changes the beginning of the request, and all that
was cached after it is lost. A reminder in the user's role stays where it is.
"""

from __future__ import annotations

from .message import Message, text_of

REMINDER_PREFIX = "<system-reminder"
_OPENS, _CLOSES = "<system-reminder>", "</system-reminder>"


def as_reminder(message: Message) -> Message:
    """A system message (in accepted form) as a user's message that says in its text what it is; a new object.

    A text that is a reminder by itself is wrapped no second time.
    """
    content = message["content"]
    if text_of(message).lstrip().startswith(REMINDER_PREFIX):
        return {**message, "role": "user"}
    if isinstance(content, str):
        return {**message, "role": "user", "content": f"{_OPENS}\n{content}\n{_CLOSES}"}
    opens, closes = ({"type": "text", "text": tag} for tag in (_OPENS, _CLOSES))
    return {**message, "role": "user", "content": [opens, *content, closes]}
