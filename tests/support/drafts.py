"""Drafts of plans over histories written as short words.

A token is four characters of text here, and a message costs nothing beside.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from amplifier_module_context_persistent.compaction.always_kept import PROMISES, Promise, Stage
from amplifier_module_context_persistent.compaction.choose import choose
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.losses import Loss, UniqueTermsLoss
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.messages.message import blocks_of, text_of
from amplifier_module_context_persistent.view.entry import Entry, classify
from tests.support.messages import Message

NOTHING: Mapping[int, int] = {}


def count(message: Message) -> int:
    thoughts = blocks_of(message, frozenset({"thinking"}))
    return (len(text_of(message)) + sum(len(block["thinking"]) for block in thoughts)) // 4


def history(words: str, same: Mapping[int, int] = NOTHING) -> list[Message]:
    """Messages from words: `u:400` a human's of 400 tokens (`b` in blocks), `r` a hook's, `t` a call and a result.

    `same` names calls that ask for what another place's call asks for. `h` is an assistant's thought, with a word.
    """
    found: list[Message] = []
    for at, word in enumerate(words.split()):
        kind, size = word.rstrip("!").split(":")
        text = f"{at:03} line of text.\n" * (int(size) * 4 // 18) + "x" * (int(size) * 4 % 18)
        more: Message = {"pinned": True} if word.endswith("!") else {}
        if kind == "t":
            call = {"id": f"c{at}", "tool": "bash", "arguments": {"line": same.get(at, at)}}
            found.append({"role": "assistant", "content": "", "tool_calls": [call]})
            found.append({"role": "tool", "tool_call_id": f"c{at}", "name": "bash", "content": text})
        elif kind == "h":
            thinking = {"type": "thinking", "thinking": text, "signature": "s"}
            content = [thinking, {"type": "text", "text": "so"}]
            found.append({"role": "assistant", "content": content, "thinking_block": dict(thinking)})
        elif kind == "r":
            found.append({"role": "user", "content": text})
            more["source"] = "hook"
        else:
            roles = {"u": "user", "a": "assistant", "s": "system", "b": "user"}
            said: Any = [{"type": "text", "text": text}] if kind == "b" else text
            found.append({"role": roles[kind], "content": said})
        found[-1]["metadata"] = {"message_id": f"m{at}", **more}
    for at, message in enumerate(found):
        message.setdefault("metadata", {"message_id": f"call{at}"})
    return found


def draft(words: str, target: int, *, same: Mapping[int, int] = NOTHING, **config: Any) -> Draft:
    """The draft over a history of words."""
    return draft_of(history(words, same), target, **config)


def draft_of(messages: Sequence[Message], target: int, **config: Any) -> Draft:
    """The draft over these messages."""
    return Draft(request_of(messages, 2 * target, **config))


def request_of(messages: Sequence[Message], budget: int, *, fixed: int = 0, **given: Any) -> PlanRequest:
    """What a plan over these messages is made from; `given` are fields of it, and of the policy."""
    fields = {name: given.pop(name) for name in list(given) if name in PlanRequest.__dataclass_fields__}
    config = {"protected_recent": 0.2, "protected_tool_results": 1, "truncate_chars": 200, **given}

    def fetch(wanted: Sequence[Entry]) -> Iterator[Message]:
        return (dict(messages[entry.ordinal]) for entry in wanted)

    return PlanRequest(
        fields.pop("entries", None) or [classify(key, message, count) for key, message in enumerate(messages)],
        config=Config.load(config),
        budget_tokens=budget,
        fixed_tokens=fixed,
        count=count,
        fetch=fetch,
        plan_id="p1",
        **fields,
    )


def kept(made: Draft) -> str:
    """The places of the groups that stay."""
    return " ".join(map(str, made.kept_positions()))


def holding(made: Draft, place: int) -> list[str]:
    """The names of the promises that hold a group."""
    return [promise.name for promise in PROMISES if any(hold.position == place for hold in promise.holds(made))]


def cut(made: Draft) -> str:
    return " ".join(sorted(made.cuts))


def check_total(made: Draft) -> None:
    gaps = sum(not kept for kept, _ in groupby(made.kept))
    assert made.total_tokens == sum(made.sizes[place] for place in made.kept_positions()) + gaps * made.gap_tokens
    assert made.total_messages == sum(1 + len(made.view.groups[place].results) for place in made.kept_positions())


def named(texts: list[str], *, arguments: str = "") -> list[dict[str, Any]]:
    """A human, a call and a result for each text, and an answer; the last call has `arguments`."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, text in enumerate(texts):
        last = number == len(texts) - 1
        call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": arguments if last else ""}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "name": "bash", "content": text})
    messages.append({"role": "assistant", "content": "done"})
    for number, message in enumerate(messages):
        message["metadata"] = {"message_id": f"m{number}"}
    return messages


def choice(
    made: Draft,
    stage: Stage = Stage.FREE,
    *,
    goal: int | None = None,
    loss: type[Loss] = UniqueTermsLoss,
    promises: Sequence[Promise] = PROMISES,
) -> Draft:
    """The draft after one stage of a choice, down to its target or to another goal."""
    forms = Forms(made, promises)
    choose(made, forms, loss(made, forms, stage), made.target_tokens if goal is None else goal)
    check_total(made)
    return made
