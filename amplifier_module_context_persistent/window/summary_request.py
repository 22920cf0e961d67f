"""The request that asks for a summary.

The instruction is appended to the current view, which the provider's cache holds. The answer may use what the window of
the provider holds besides the budget, as any answer does. If view, instruction and answer do not fit, the span alone is
sent, as text, each message shortened to what there is room for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..compaction.draft import Draft
from ..compaction.plan_request import PlanRequest
from ..compaction.summary_span import Span, evidence_of, older_ordinals
from ..errors import SummaryError
from ..messages.message import Message, texts_of
from ..messages.text import full_text, well_formed
from ..view.arrangement import Arrangement, Count
from ..view.inserted_messages import inserted_message
from ..view.plan import SUMMARY_TAGS
from ..view.render import render
from .request import ViewRequest

PROMPT = """\
The older part of this conversation will be left out of what you see, and your answer will stand in its place. Write
the summary that you would want to go on with. Do not call a tool, and do not go on with the work itself.

Say, in this order, and leave out what does not apply:
1. What the person asked for, in their own words where the words matter, and what they corrected or forbade.
2. What was done and decided so far, and why; what was tried and did not work.
3. Exact names that are needed to go on: files with paths, functions, commands, ids, addresses, versions, values.
4. Errors that were met, word for word, and how each was solved.
5. What is open, what was going on just now, and what comes next.

Be exact and complete rather than short; no introduction and no closing words."""
"""What a provider is asked for, unless `summary_prompt` says something else."""

_LONGEST_CHARS = 16_000
_SHORTEST_CHARS = 60
_LEAST_CHARS = 1_000  # of a conversation, to be worth a summary


def span_of(
    planned: PlanRequest, arrangement: Arrangement, request: ViewRequest, basis: Hashable
) -> Span | SummaryError:
    """Choose what a summary in the next plan would replace, and make the request for it.

    Args:
        planned: what the plan is made from.
        arrangement: the view without it.
        request: the request that needs a plan.
        basis: what a summary is valid for.

    Returns:
        It; or why there can be none.
    """
    config, count, fetch, plan = planned.config, planned.count, planned.fetch, planned.previous
    if not (ordinals := older_ordinals(Draft(planned))):
        return SummaryError("there is nothing to sum up")
    asks = instruction(config.summary_prompt or PROMPT)
    replaced = [entry for entry in planned.entries if entry.ordinal in ordinals]
    messages = list(fetch(replaced))
    said = evidence_of(replaced, [text for message in messages for text in texts_of(message)], plan.summary)
    size = sum([entry.tokens for entry in replaced])
    room = request.budget_tokens - config.summary_max_tokens
    room_with_view = request.budget_tokens - max(0, config.summary_max_tokens - request.room.spare_tokens)
    if (tokens := request.room.fixed_tokens + arrangement.tokens + count(asks)) <= room_with_view:
        view = render(arrangement, fetch, head=request.head, boundary=config.truncate_boundary)
        return Span(ordinals, basis, [*view, asks], with_tools=True, tokens=tokens, evidence=said, replaced_tokens=size)
    if plan.summary:
        messages.insert(0, inserted_message("user", plan.summary.join(SUMMARY_TAGS)))
    flat = flattened_to(messages, config.summary_prompt or PROMPT, room, count)
    if flat is None:
        return SummaryError("there is no room to ask for it")
    return Span(ordinals, basis, [flat], with_tools=False, tokens=count(flat), evidence=said, replaced_tokens=size)


def instruction(prompt: str) -> Message:
    """The message that asks for a summary."""
    return {"role": "user", "content": f"<system-reminder>\n{prompt}\n</system-reminder>"}


def flattened(messages: Sequence[Message], prompt: str, most_chars: int) -> Message:
    """One message that holds a conversation as text, in at most so many characters, and the instruction.

    Its texts are shortened to one length, as long as there is room for; where even the shortest do not fit, the oldest
    are left out.
    """
    chars = _LONGEST_CHARS
    while len(text := "\n\n".join(_said(m, chars) for m in messages)) > most_chars and chars > _SHORTEST_CHARS:
        chars //= 2
    shown = text[len(text) - min(len(text), most_chars) :]
    return {"role": "user", "content": well_formed(f"<conversation>\n{shown}\n</conversation>\n\n{prompt}")}


def _said(message: Message, most_chars: int) -> str:
    """What a message says, its middle left out where it is long."""
    text, half = full_text(message)[0], most_chars // 2
    name = f" {message['name']}" if message.get("name") else ""
    return (
        f"[{message.get('role')}{name}]\n{text if len(text) <= most_chars else f'{text[:half]} [...] {text[-half:]}'}"
    )


def flattened_to(messages: Sequence[Message], prompt: str, most_tokens: int, count: Count) -> Message | None:
    """`flattened`, in at most so many tokens; None where there is no room for more than the instruction."""
    chars = 4 * most_tokens
    while chars > _LEAST_CHARS:
        message = flattened(messages, prompt, chars)
        tokens = count(message)
        if tokens <= most_tokens:
            return message
        chars = min(chars - 1, chars * most_tokens // tokens) * 9 // 10
    return None
