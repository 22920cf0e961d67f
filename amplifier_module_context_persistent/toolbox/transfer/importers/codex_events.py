"""Read the events of a Codex rollout: what the program told its surface, in lines of the type `event_msg`.

Most events repeat items (`codex.py`). What no item says is taken from them: reasoning of which an item has only the
encrypted state, and the messages of rollouts whose items are missing. An event may come before or after its item.
Events also say which messages a person wrote, what was billed, and which turns were rolled back. In an export of this
package all events repeat items.
"""

from __future__ import annotations

from typing import Any

from ....forms.canonical import blocks_of, text_block, total, usage_of
from .codex_reading_state import AnswerLine, RequestBill, Rollout, contains_words, text_in
from .events import MessageRead
from .fields import items, mapping, metadata, named, text, thinking_block, user
from .lines import SourceObject

_REASONING = frozenset({"agent_reasoning", "agent_reasoning_raw_content"})
_MOST_LOOKED_AT = 8  # events before the one that says what a person wrote


def take_event(rollout: Rollout, at: SourceObject, event: dict[str, Any]) -> None:
    """Note an event in the account, and add what no item says to the rollout."""
    kind = text(event.get("type"))
    name = f"event {kind}"
    item = mapping(event.get("item")) if kind == "item_completed" else {}
    if kind == "token_count":
        rollout.account.keep(name)
        _count_tokens(rollout, at, mapping(event.get("info")))
    elif kind == "user_message":
        _person_said(rollout, at, text(event.get("message")), name)
    elif item.get("type") == "UserMessage":
        _person_said(rollout, at, _words_in(item), f"{name} of a person")
    elif thought := _thought_in(kind, event, item):
        _agent_thought(rollout, at, thought, "event agent_reasoning" if kind in _REASONING else name)
    elif agent_words := _words_of_agent(kind, event, item):
        _agent_said(rollout, at, agent_words, name)
    elif kind == "thread_name_updated":
        rollout.account.keep(name)
        if text(event.get("thread_id")) in ("", rollout.session_id):
            rollout.session_facts |= named(event, title="thread_name")
    elif kind == "thread_rolled_back":
        rollout.account.keep(name)
        turns = event.get("num_turns")
        _roll_back(rollout, at.number, turns if isinstance(turns, int) else 1)
    elif started := _started_agent(kind, event):
        rollout.account.keep(name)
        rollout.note_child(*started)
    else:
        rollout.account.skip(name)


def _started_agent(kind: str, event: dict[str, Any]) -> tuple[str, str] | None:
    """Return the thread of a sub-agent that was started, and the id of the call that started it; None without both."""
    thread = call_id = ""
    if kind == "collab_agent_spawn_end":
        thread, call_id = text(event.get("new_thread_id")), text(event.get("call_id"))
    elif kind == "sub_agent_activity" and event.get("kind") == "started":
        thread, call_id = text(event.get("agent_thread_id")), text(event.get("event_id"))
    if thread and call_id:
        return (thread, call_id)
    return None


def _words_in(item: dict[str, Any]) -> str:
    return "".join(text(block.get("text")) for block in blocks_of(item.get("content")))


def _thought_in(kind: str, event: dict[str, Any], item: dict[str, Any]) -> str:
    if kind in _REASONING:
        return text(event.get("text")).strip()
    if item.get("type") == "Reasoning":
        return "\n\n".join(map(text, items(item.get("summary_text")))).strip()
    return ""


def _words_of_agent(kind: str, event: dict[str, Any], item: dict[str, Any]) -> str:
    if kind == "agent_message":
        return text(event.get("message")).strip()
    return _words_in(item).strip() if item.get("type") == "AgentMessage" else ""


def _agent_thought(rollout: Rollout, at: SourceObject, thought: str, name: str) -> None:
    known = rollout.answer.reasoning if rollout.answer else rollout.reasoned
    if thought in known:
        rollout.account.skip(name)
    else:
        block = thinking_block(thought)
        rollout.add_reported_line(AnswerLine(at.number, at.value.get("timestamp"), [block], [], thought, name))


def _agent_said(rollout: Rollout, at: SourceObject, words: str, name: str) -> None:
    if _is_exported(rollout, at) or rollout.contains_near_end(words):
        rollout.account.skip(name)
    else:
        rollout.add_reported_line(
            AnswerLine(at.number, at.value.get("timestamp"), [text_block(words)], [], words, name)
        )


def _is_exported(rollout: Rollout, at: SourceObject) -> bool:
    return rollout.exported.last_line == at.number


def _count_tokens(rollout: Rollout, at: SourceObject, info: dict[str, Any]) -> None:
    """Bill the usage of a request to its answer.

    The program repeats a count when its limits change, and after a compaction it writes one with an estimate of the
    new context. Then the sum of all requests, `total_token_usage`, is as before, and nothing is billed. Versions up to
    November 2025 count the tokens before they write the items of the answer, later versions after it.
    """
    usage = _usage(mapping(info.get("last_token_usage")))
    sum_of_all = mapping(info.get("total_token_usage"))
    is_billed_before = bool(sum_of_all) and sum_of_all == mapping(rollout.last_count.get("total_token_usage"))
    if not usage or is_billed_before:
        return
    rollout.last_count = info
    rollout.bill(RequestBill(usage, info, is_exported=_is_exported(rollout, at), line=at.number))


def _usage(reported: dict[str, Any]) -> dict[str, Any]:
    return usage_of(
        input_tokens=reported.get("input_tokens"),
        output_tokens=total(reported.get("output_tokens")),
        cache_read_tokens=reported.get("cached_input_tokens"),
        reasoning_tokens=reported.get("reasoning_output_tokens"),
    )


def _person_said(rollout: Rollout, at: SourceObject, event_text: str, name: str) -> None:
    """Note the text of an event that says what a person wrote. If no item says the same, it becomes a message."""
    words = event_text.strip()
    rollout.tells_people = True
    rollout.person_hashes.add(hash(words))
    if not words or _mark_person(rollout, words) or _is_exported(rollout, at):
        rollout.account.keep(name)
        return
    facts = metadata(rollout.line_id(at.number), at.value.get("timestamp"))
    rollout.add_reported_message(MessageRead(user(words, facts), at.number), words, name)


def _mark_person(rollout: Rollout, words: str) -> bool:
    """Mark the last item with this text as a person's, and return whether there is one.

    Images and context may be around the text.
    """
    for held in reversed(rollout.live[-_MOST_LOOKED_AT:]):
        if held.role != "user":
            continue
        message = rollout.message(held)
        if contains_words(text_in(message["content"]), words):
            facts = {key: value for key, value in message["metadata"].items() if key != "source"}
            rollout.change(held, {**message, "metadata": facts})
            held.source = None
            return True
    return False


def _roll_back(rollout: Rollout, line: int, turns: int) -> None:
    """Take the last turns out of the history; they become an abandoned branch."""
    rollout.end_answer()
    turn_starts = [position for position, held in enumerate(rollout.live) if held.is_person(rollout)]
    if not turn_starts or turns <= 0:
        return
    begin = turn_starts[-min(turns, len(turn_starts))]
    rollout.rolled_back.append((line, rollout.live[:begin], rollout.live[begin:]))
    del rollout.live[begin:]
