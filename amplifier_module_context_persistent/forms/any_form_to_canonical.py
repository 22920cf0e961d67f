"""Turn messages of any form into canonical ones: every message that is added passes through this module.

`read_given` takes messages as plain JSON. Messages in Amplifier's own form are returned as the same objects. Others are
read by the module of their form, and get its mark. Adjacent messages of one form are read together, because the items
of one answer become one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..messages.message import Message
from . import anthropic, bedrock, gemini, openai_chat, openai_responses
from .calls_by_name import with_ids_of_calls
from .canonical import form_of, marked
from .recognise import FORMS, OWN, Shape, is_plain, shape_of
from .responses_reasoning import with_reasoning_before

_ANSWERS = {
    openai_chat.NAME: openai_chat.read_completion,
    openai_responses.NAME: openai_responses.read_response,
    gemini.NAME: gemini.read_response,
    bedrock.NAME: bedrock.read_response,
}
"""The functions that read a whole answer, by form; Anthropic's answers are read as messages."""


def read_given(
    messages: Sequence[Mapping[str, Any]], form: str | None = None, *, before: str = "", guesses: bool = True
) -> list[Message]:
    """Read messages of any form, and return canonical messages.

    Args:
        messages: as plain JSON.
        form: the form of all messages; if it is not given, each message's form is recognised by its shape.
        before: the form of the messages before the first one.
        guesses: whether a form is also given to messages of an ambiguous shape.

    Returns:
        Canonical messages. A message in Amplifier's own form is the same object. So is a message that has no known form
        (without a role), which is refused only when it is stored.

    Raises:
        RecordError: a message is malformed; says where.
    """
    if form is None and all(map(_is_own_text, messages)):
        return list(messages)  # type: ignore[arg-type]  # they are dictionaries
    read = list[Message]()
    for run in _runs(messages, form, before, guesses=guesses):
        read += run.read()
    if any(form_of(message) == gemini.NAME for message in read):
        return with_ids_of_calls(read)
    return read


def with_messages_before(messages: Sequence[Message], before: Sequence[Message]) -> list[Message]:
    """Return messages completed from the messages before: with reasoning that was added alone, and call ids.

    Args:
        messages: canonical messages, as `read_given` gives them.
        before: those before them, from the last answer on.
    """
    read = with_ids_of_calls(messages, before)
    if before and read:
        read[0] = with_reasoning_before(before[-1], read[0])
    return read


def is_foreign(message: Any, *, guesses: bool = True) -> bool:
    """Return whether a message is in another form than Amplifier's, or is an object of a provider's client."""
    if not isinstance(message, Mapping):
        return True
    if _is_own_text(message):
        return False
    return not form_of(message) and shape_of(message, guesses=guesses) is not None


def read_answer(answer: Mapping[str, Any], form: str) -> list[Message]:
    """Read the whole answer of a provider; its model and usage are in the metadata.

    Raises:
        RecordError: the answer is malformed; the error says where.
    """
    if form == anthropic.NAME or form not in _ANSWERS:
        return FORMS[form].read([answer])
    return _ANSWERS[form](answer)


class _Run:
    """Adjacent messages of one form."""

    def __init__(self, shape: Shape | None) -> None:
        self.shape = shape
        self.messages: list[Mapping[str, Any]] = []

    def read(self) -> list[Message]:
        if self.shape is None:
            return [message if isinstance(message, dict) else dict(message) for message in self.messages]
        form = self.shape.form
        if self.shape.is_answer:
            read_messages = list[Message]()
            for answer in self.messages:
                read_messages += read_answer(answer, form)
        else:
            read_messages = FORMS[form].read([_with_list(message) for message in self.messages])
        if not self.shape.guessed:
            return read_messages
        return [marked(message, form_of(message) or form, guessed=True) for message in read_messages]


def _is_own_text(message: Mapping[str, Any]) -> bool:
    return type(message) is dict and is_plain(message)


def _with_list(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with its content as a list if the content is a single block."""
    content = message.get("content")
    is_single_block = isinstance(content, Mapping) and "type" in content
    return {**message, "content": [content]} if is_single_block else message


def _runs(messages: Iterable[Mapping[str, Any]], form: str | None, before: str, *, guesses: bool) -> Iterable[_Run]:
    run: _Run | None = None
    for message in messages:
        shape = _shape(message, form, before, guesses=guesses)
        if run is None or run.shape != shape:
            if run is not None:
                yield run
            run = _Run(shape)
        run.messages.append(message)
        before = shape.form if shape is not None else before
    if run is not None:
        yield run


def _shape(message: Mapping[str, Any], form: str | None, before: str, *, guesses: bool) -> Shape | None:
    if form == OWN or form_of(message):  # an earlier read has marked it
        return None
    shape = shape_of(message, form or before, guesses=guesses or form is not None)
    if form is None:
        return shape
    return Shape(form, is_answer=shape is not None and shape.is_answer)
