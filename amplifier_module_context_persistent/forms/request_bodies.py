"""A view as the body of a request, and a provider's answer as a message: for agents with the providers' own clients.

The messages may be a view (the messages of one request) or a whole history, in any form. They are read
(`any_form_to_canonical`) and put in order like a view (`arrange`): each call has one result right after it, the first
message after the system text is a user's, and content that the provider refuses is shown in another way.

Cache marks of Anthropic: "up to 4 cache breakpoints"; a request finds what an earlier one wrote at a mark up to 20
blocks before its own (platform.claude.com/docs/en/build-with-claude/prompt-caching, read 2026-11). So the end of the
request before this one is marked too: it is the last message before the newest answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import dropwhile, takewhile, zip_longest
from typing import Any

from ..messages.check_incoming import json_copy
from ..messages.message import THINKING_BLOCKS, Message, calls_of, is_block, metadata_of, result_id_of
from ..messages.metadata import COMPACTION_SOURCE, is_ephemeral, line_before
from ..messages.normalize import normalise
from ..view.arrangement import Presentation, arrange
from ..view.entry import INSTRUCTING, Entry, Origin, RequestForm
from ..view.recipients import ANTHROPIC, GEMINI, OPENAI
from ..view.render import render
from ..view.wire_rules import oddities_of, rules_of
from . import anthropic, bedrock, gemini, openai_chat, openai_responses
from .anthropic_server_tools import has_paused
from .any_form_to_canonical import read_answer, read_given
from .block_text import as_blocks
from .recognise import FORMS, OWN, check_name
from .tool_definitions import anthropic_tools, bedrock_tools, chat_tools, gemini_tools, responses_tools

Tools = Iterable[Mapping[str, Any]]
View = Iterable[Mapping[str, Any]]

_NOTHING: Message = {}
_MOST_MARKS = 4
_MARK = {"type": "ephemeral"}


# -- bodies ------------------------------------------------------------------------------------------------------------


def to_anthropic(
    view: View, *, tools: Tools | None = None, max_tokens: int | None = None, cache: bool = True
) -> dict[str, Any]:
    """Return the arguments of `client.messages.create` for a view, without `model`.

    Arguments that are not given here, such as `max_tokens`, have to be added.

    Args:
        view: messages, as `get_messages_for_request` returns them; they are not mutated.
        tools: definitions of tools, in any form.
        max_tokens: the largest number of tokens of the answer.
        cache: whether `cache_control` marks are placed: at the tools, the system text, the end of the request before
            this one, and the newest message that later requests will have. Content is then always a list of blocks.

    Returns:
        `system`, if the view begins with system text; `messages`, each with `role` and `content`; `tools` and
        `max_tokens` as given. Thinking without a signature and metadata are left out. System text after the first other
        message becomes a user's message. An answer at the end is followed by a user's `[continued]`, unless it paused
        (`pause_turn`), because the server continues a paused answer.

    Raises:
        ValueError: an item is not a message, or no message can be sent.
    """
    system, messages = _system_and_talk(view, ANTHROPIC)
    messages = _without_lines(messages, lambda answer, _: has_paused(answer))
    ends_paused = bool(messages) and has_paused(messages[-1])
    written = _checked(anthropic.write(messages, goes_on=ends_paused))
    body = _given(system=system, messages=written, tools=_defined(tools, anthropic_tools), max_tokens=max_tokens)
    if not cache:
        return body
    stable = len(written)
    ephemeral_at_end = len(list(takewhile(is_ephemeral, reversed(messages))))
    if ephemeral_at_end:
        stable = len(anthropic.write(messages[:-ephemeral_at_end]))
    return _with_marks(body, stable)


def to_openai(
    view: View, *, tools: Tools | None = None, max_tokens: int | None = None, reasoning: bool = False
) -> dict[str, Any]:
    """Return the arguments of `client.chat.completions.create` for a view, without `model`.

    Args:
        view: messages, as `get_messages_for_request` returns them; they are not mutated.
        tools: definitions of tools, in any form.
        max_tokens: the largest number of tokens of the answer.
        reasoning: whether answers keep the keys that servers compatible with OpenAI's add (`reasoning_content`,
            `reasoning_details`, signatures of calls). Some of these servers need them; OpenAI's own server refuses
            them.

    Returns:
        `messages`, each with `role` (`system`, `developer`, `user`, `assistant`, `tool`), `content` and, of an answer,
        `tool_calls`; `tools` and `max_completion_tokens` as given. Thinking and metadata are left out. Calls that a
        provider's server ran become ordinary calls with results. In results, blocks that are not text become one line
        each.

    Raises:
        ValueError: an item is not a message, or no message can be sent.
    """
    messages = _checked(openai_chat.write(in_order(view, OPENAI), reasoning=reasoning))
    return _given(messages=messages, tools=_defined(tools, chat_tools), max_completion_tokens=max_tokens)


def to_openai_responses(view: View, *, tools: Tools | None = None, max_tokens: int | None = None) -> dict[str, Any]:
    """Return the arguments of `client.responses.create` for a view, without `model`.

    Args:
        view: messages, as `get_messages_for_request` returns them; they are not mutated.
        tools: definitions of tools, in any form.
        max_tokens: the largest number of tokens of the answer.

    Returns:
        `input`, a list of items; `instructions`, if the view begins with system text; `tools` and `max_output_tokens`
        as given. Reasoning of other providers is left out. To get encrypted reasoning that can be sent again, request
        it with `store=False, include=["reasoning.encrypted_content"]`.

    Raises:
        ValueError: an item is not a message, or no message can be sent.
    """
    system, given_talk = _system_and_talk(view, OPENAI)
    talk = _without_lines(given_talk, openai_responses.is_one_answer)
    return _given(
        instructions=system,
        input=_checked(openai_responses.write(talk)),
        tools=_defined(tools, responses_tools),
        max_output_tokens=max_tokens,
    )


def to_gemini(view: View, *, tools: Tools | None = None, max_tokens: int | None = None) -> dict[str, Any]:
    """Return the arguments of `client.models.generate_content` for a view, without `model`.

    Args:
        view: messages, as `get_messages_for_request` returns them; they are not mutated.
        tools: definitions of tools, in any form.
        max_tokens: the largest number of tokens of the answer.

    Returns:
        `contents`; `config` with those of `system_instruction`, `tools` and `max_output_tokens` that there are.

    Raises:
        ValueError: an item is not a message, or no message can be sent.
    """
    system, talk = _system_and_talk(view, GEMINI)
    config = _given(system_instruction=system, tools=_defined(tools, gemini_tools), max_output_tokens=max_tokens)
    return _given(contents=_checked(gemini.write(talk)), config=config or None)


def to_bedrock(view: View, *, tools: Tools | None = None, max_tokens: int | None = None) -> dict[str, Any]:
    """Return the arguments of `client.converse` for a view, without `modelId`; media are bytes, as the client expects.

    Args:
        view: messages, as `get_messages_for_request` returns them; they are not mutated.
        tools: definitions of tools, in any form.
        max_tokens: the largest number of tokens of the answer.

    Returns:
        `messages`; `system`, if the view begins with system text; `toolConfig` and `inferenceConfig` as given.

    Raises:
        ValueError: an item is not a message, or no message can be sent.
    """
    system, messages = _system_and_talk(view, ANTHROPIC, bedrock.NAME)
    body: dict[str, Any] = {}
    if system:
        body["system"] = [{"text": system}]
    body["messages"] = _checked(bedrock.write(messages))
    if tools is not None:
        body["toolConfig"] = {"tools": bedrock_tools(tools)}
    if max_tokens is not None:
        body["inferenceConfig"] = {"maxTokens": max_tokens}
    return body


def _given(**facts: Any) -> dict[str, Any]:
    """Return the given arguments without those whose value is None."""
    return {key: value for key, value in facts.items() if value is not None}


def _defined(tools: Tools | None, write: Callable[[Tools], list[Message]]) -> list[Message] | None:
    """Return the definitions of tools in the form that `write` gives them; None without definitions."""
    return None if tools is None else write(tools)


def _system_and_talk(view: View, family: str, form: str = "") -> tuple[str | None, list[Message]]:
    """Split a view into the system text at its beginning (None without one) and the other messages.

    Args:
        view: the messages.
        family: the family of providers whose rules the order has to follow.
        form: the form of messages whose shape is ambiguous.
    """
    ordered = in_order(view, family, form)
    texts = [anthropic.system_text(message) for message in takewhile(_instructs, ordered)]
    system = "\n\n".join(filter(None, texts))
    return system or None, list(dropwhile(_instructs, ordered))


def in_order(messages: View, family: str, form: str = "") -> list[Message]:
    """Return messages of any form in the order that a family of providers needs.

    `form` is the form of messages with ambiguous shapes.

    Raises:
        ValueError: an item is not a message, or it is malformed.
    """
    accepted_messages: list[Message] = []
    entries: list[Entry] = []
    for position, message in enumerate(_canonical(messages, form)):
        accepted = normalise(message, keeps_originals=True)
        entries.append(_entry(position, message, accepted))
        accepted_messages.append(accepted or message)
    arranged = arrange(entries, lambda _: 0, Presentation(wire=rules_of(family, strict=True)))
    return render(arranged, lambda wanted: (accepted_messages[entry.ordinal] for entry in wanted))


def _canonical(messages: View, form: str) -> list[Message]:
    stored: list[Message] = []
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise _no_message(position, message)
        stored.append(dict(message))
    read = read_given(stored, before=form, guesses=bool(form))
    for position, message in enumerate(read):
        if not isinstance(message.get("role"), str):
            raise _no_message(position, message)
    return read


def _no_message(position: int, item: Any) -> ValueError:
    return ValueError(f"item {position} is no message: {item!r:.60}")


def _entry(position: int, message: Message, accepted: Message | None) -> Entry:
    calls = calls_of(accepted) if accepted else ()
    odd = oddities_of(accepted) if accepted else None
    form = RequestForm(blank=accepted is None, named=bool(message.get("name")), odd=odd)
    no_id = ""
    no_tokens = 0
    return Entry(
        position,
        no_id,
        str(message["role"]),
        no_tokens,
        calls=calls,
        result_of=result_id_of(message),
        origin=Origin(line_before=line_before(message)),
        form=form,
    )


def _checked(messages: list[Message]) -> list[Message]:
    if all(map(_instructs, messages)):
        raise ValueError("no message can be sent; a request needs at least one of a user")
    return messages


def _instructs(message: Message) -> bool:
    return message.get("role") in INSTRUCTING


def _without_lines(messages: Sequence[Message], goes_on: Callable[[Message, Message], bool]) -> list[Message]:
    """Return the messages without the lines that views put after an answer that the provider continues.

    Args:
        messages: the messages in order.
        goes_on: called with an answer and the message after the line (empty at the end); returns whether that message
            continues the answer.
    """
    without_lines: list[Message] = []
    for message, after in zip_longest(messages, messages[1:], fillvalue=_NOTHING):
        is_line = message["role"] == "user" and metadata_of(message).get("source") == COMPACTION_SOURCE
        if not (is_line and without_lines and goes_on(without_lines[-1], after)):
            without_lines.append(message)
    return without_lines


# -- cache marks -------------------------------------------------------------------------------------------------------


def _with_marks(body: dict[str, Any], stable: int) -> dict[str, Any]:
    """Return a body for Anthropic with cache marks; marks that the body already has count towards the limit.

    Args:
        body: the body of the request.
        stable: the number of messages at its beginning that later requests will have, too.
    """
    messages = [{**message, "content": as_blocks(message["content"])} for message in body["messages"]]
    body = {**body, "messages": messages}
    if "system" in body:
        body["system"] = [{"type": "text", "text": body["system"]}]
    marks_left = _MOST_MARKS - sum(_marks_in(body.get(key)) for key in ("tools", "system", "messages"))
    places = [messages[position]["content"] for position in _ends(messages, stable)]
    places += [body[key] for key in ("tools", "system") if body.get(key)]
    for blocks in places:
        if marks_left > 0 and _mark_last(blocks):
            marks_left -= 1
    return body


def _ends(messages: Sequence[Message], stable: int) -> list[int]:
    """Return the positions of the messages to mark: the newest message, and the last message of the request before."""
    answers = [position for position in range(stable) if messages[position]["role"] == "assistant"]
    ends = [stable - 1] if stable else []
    if answers and answers[-1] > 0:
        ends.append(answers[-1] - 1)
    return list(dict.fromkeys(ends))


def _marks_in(value: Any) -> int:
    """Return the number of cache marks in a value."""
    if isinstance(value, list):
        return sum(map(_marks_in, value))
    if not isinstance(value, dict):
        return 0
    own = 1 if "cache_control" in value else 0
    return own + _marks_in(value.get("content"))


def _mark_last(blocks: list[Message]) -> bool:
    """Mark the last block of a list that can be marked, and return whether a mark was placed."""
    for position in reversed(range(len(blocks))):
        block = blocks[position]
        if "cache_control" in block:
            return False
        if not is_block(block, THINKING_BLOCKS):
            blocks[position] = {**block, "cache_control": dict(_MARK)}
            return True
    return False


# -- answers -----------------------------------------------------------------------------------------------------------


def from_anthropic(answer: Any) -> Message:
    """Return the message in the answer of `client.messages.create`, with its model and usage in the metadata.

    Args:
        answer: the object that the client returns, or its dictionary.

    Raises:
        RecordError (a `ValueError`): the answer is malformed; the error says where.
    """
    return _answer(json_copy(answer), anthropic.NAME, is_message=True)


def from_openai(answer: Any) -> Message:
    """Return the message in the answer of `client.chat.completions.create` or `client.responses.create`.

    Its model and usage are in the metadata.

    Args:
        answer: the object that the client returns, or its dictionary.

    Raises:
        RecordError (a `ValueError`): the answer is malformed; the error says where.
    """
    plain = json_copy(answer)
    form = openai_chat.NAME
    if "output" in plain and "choices" not in plain:
        form = openai_responses.NAME
    return _answer(plain, form, is_message="role" in plain)


def from_gemini(answer: Any) -> Message:
    """Return the message in the answer of `client.models.generate_content`, with its model and usage in the metadata.

    Args:
        answer: the object that the client returns, or its dictionary.

    Raises:
        RecordError (a `ValueError`): the answer is malformed, or the prompt was blocked; the error says where.
    """
    plain = json_copy(answer)
    return _answer(plain, gemini.NAME, is_message="parts" in plain)


def from_bedrock(answer: Any) -> Message:
    """Return the message in the answer of `client.converse`, with its usage in the metadata.

    Args:
        answer: the dictionary that the client returns.

    Raises:
        RecordError (a `ValueError`): the answer is malformed; the error says where.
    """
    plain = json_copy(answer)
    return _answer(plain, bedrock.NAME, is_message="role" in plain)


def _answer(plain: Message, form: str, *, is_message: bool) -> Message:
    """Return the message in a provider's whole answer; with `is_message`, `plain` is only the inner message."""
    messages = FORMS[form].read([plain]) if is_message else read_answer(plain, form)
    return messages[-1]


# -- a history in one form ---------------------------------------------------------------------------------------------


def written_as(messages: Iterable[Message], form: str) -> list[Message]:
    """Return a history in a form. Messages that came in this form are written in the form in which they were added.

    Args:
        messages: canonical messages, in order.
        form: the name of a form.

    Raises:
        ValueError: there is no form of this name.
    """
    check_name(form)
    if form == OWN:
        return list(messages)
    return FORMS[form].write(messages, exact=True)
