"""Read a single answer of a provider's API, as its client or `curl` writes it to a file.

It is a completion of OpenAI, a message of Anthropic, or a response of Gemini or of Bedrock. The file does not say what
was asked. A response of OpenAI's Responses is read with its items (`openai.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....errors import RecordError
from ....forms import anthropic, bedrock, gemini, openai_chat
from ....forms.canonical import form_of, parsed_calls, plain_content, unmarked
from ....messages.message import Message, metadata_of
from .account import Account
from .events import Event, MessageRead, SessionStart
from .fields import items, mapping, metadata, named, text
from .refused_import import ImportRefusedError
from .source_file import Sample, Source

_Read = Callable[[dict[str, Any]], list[Message]]


def _reader_of(document: Any) -> _Read | None:
    """Return the function that reads a document, or None if the document is no answer."""
    answer = mapping(document)
    if any(isinstance(mapping(choice).get("message"), dict) for choice in items(answer.get("choices"))):
        return openai_chat.read_completion
    if any(isinstance(mapping(candidate).get("content"), dict) for candidate in items(answer.get("candidates"))):
        return gemini.read_response
    if isinstance(mapping(mapping(answer.get("output")).get("message")).get("content"), list):
        return bedrock.read_response
    if answer.get("type") == "message" and answer.get("role") == "assistant" and "stop_reason" in answer:
        return lambda message: anthropic.read([message])
    return None


def score(sample: Sample) -> int:
    """Return 970 if a document is an answer, else 0."""
    return 970 if _reader_of(sample.document) is not None else 0


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session of one answer.

    Raises:
        ImportRefusedError: the document is no answer, or is malformed.
    """
    answer = source.document()
    reader = _reader_of(answer)
    if reader is None:
        raise ImportRefusedError("the document is no answer of a provider")
    try:
        messages = reader(answer)
    except RecordError as refused:
        raise ImportRefusedError(str(refused)) from refused
    account.unit = "entry"
    account.next_line()
    account.map("answer")
    others = len(items(answer.get("choices")) or items(answer.get("candidates"))) - 1
    if others > 0:
        account.lose_part(1, f"{others:,} other choices of the answer: the first one is the session's")
    answer_id = text(answer.get("id")) or text(answer.get("responseId")) or "answer"
    yield SessionStart("session", "", named(answer, model="model"))
    for number, message in enumerate(messages, 1):
        yield MessageRead(_with_id(message, answer_id if number == 1 else f"{answer_id}-{number}", answer), 1)


def _with_id(message: Message, message_id: str, answer: dict[str, Any]) -> Message:
    """Return a message with calls in the log's form, its id, and the time of the answer."""
    plain = parsed_calls(unmarked(message)) if form_of(message) == openai_chat.NAME else message
    content = plain["content"]
    own_metadata = {key: value for key, value in metadata_of(plain).items() if key != "message_id"}
    facts = {**own_metadata, **metadata(message_id, answer.get("created") or answer.get("createTime"))}
    return {
        **plain,
        "content": plain_content(content) if isinstance(content, list) else content or "",
        "metadata": facts,
    }
