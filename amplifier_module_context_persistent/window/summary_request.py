"""The request that asks for a summary.

The instruction is appended to the current view, which the provider's cache has. The answer may use the part of the
provider's window beyond the budget, as any answer may. If view, instruction and answer do not fit, only the messages to
be replaced are sent, as one text, shortened to the room.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

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
"""The default instruction; the option `summary_prompt` replaces it."""

_LONGEST_CHARS = 16_000
_SHORTEST_CHARS = 60
_LEAST_CHARS = 1_000  # of a conversation that is worth a summary


def span_of(
    planned: PlanRequest, arrangement: Arrangement, request: ViewRequest, basis: Hashable
) -> Span | SummaryError:
    """Choose the messages that a summary in the next plan would replace, and make the request for it.

    Args:
        planned: the inputs of the plan.
        arrangement: the present view.
        request: the request that needs a plan.
        basis: the history and plan for which a summary is valid.

    Returns:
        The span; or why there can be none.
    """
    config = planned.config
    count = planned.count
    ordinals = older_ordinals(Draft(planned))
    if not ordinals:
        return SummaryError("there is nothing to sum up")
    prompt = config.summary_prompt or PROMPT
    last_summary = planned.so_far.plan.summary
    replaced = [entry for entry in planned.entries if entry.ordinal in ordinals]
    messages = list(planned.fetch(replaced))
    texts = [text for message in messages for text in texts_of(message)]
    span = partial(
        Span,
        ordinals,
        basis,
        evidence=evidence_of(replaced, texts, last_summary),
        replaced_tokens=sum(entry.tokens for entry in replaced),
    )
    asks = instruction(prompt)
    tokens = request.room.fixed_tokens + arrangement.tokens + count(asks)
    answer_within_budget = max(0, config.summary_max_tokens - request.room.spare_tokens)
    if tokens <= request.budget_tokens - answer_within_budget:
        view = render(arrangement, planned.fetch, head=request.head, boundary=config.truncate_boundary)
        return span([*view, asks], with_tools=True, tokens=tokens)
    if last_summary:
        messages.insert(0, inserted_message("user", last_summary.join(SUMMARY_TAGS)))
    flat = flattened_to(messages, prompt, request.budget_tokens - config.summary_max_tokens, count)
    if flat is None:
        return SummaryError("there is no room to ask for it")
    return span([flat], with_tools=False, tokens=count(flat))


def instruction(prompt: str) -> Message:
    """Return the message that asks for a summary."""
    return {"role": "user", "content": f"<system-reminder>\n{prompt}\n</system-reminder>"}


def flattened(messages: Sequence[Message], prompt: str, most_chars: int) -> Message:
    """Return one message with a conversation as text of at most `most_chars` characters, and the instruction.

    All texts are shortened to the same length, so that they fit together. If even the shortest length does not fit, the
    oldest texts are left out.
    """
    chars = _LONGEST_CHARS
    text = _joined(messages, chars)
    while len(text) > most_chars and chars > _SHORTEST_CHARS:
        chars //= 2
        text = _joined(messages, chars)
    end = text[len(text) - min(len(text), most_chars) :]
    return {"role": "user", "content": well_formed(f"<conversation>\n{end}\n</conversation>\n\n{prompt}")}


def _joined(messages: Sequence[Message], most_chars: int) -> str:
    return "\n\n".join(_shortened(message, most_chars) for message in messages)


def _shortened(message: Message, most_chars: int) -> str:
    """Return the role, the name and the text of a message. The middle of a long text is left out."""
    text = full_text(message)[0]
    if len(text) > most_chars:
        half = most_chars // 2
        text = f"{text[:half]} [...] {text[-half:]}"
    name = f" {message['name']}" if message.get("name") else ""
    return f"[{message.get('role')}{name}]\n{text}"


def flattened_to(messages: Sequence[Message], prompt: str, most_tokens: int, count: Count) -> Message | None:
    """Return `flattened` with at most `most_tokens`, or None if there is room for little more than the instruction.

    Args:
        messages: the messages to summarise.
        prompt: the instruction, which comes after them.
        most_tokens: the largest number of tokens of the result.
        count: counts the tokens of a message.
    """
    chars = 4 * most_tokens
    while chars > _LEAST_CHARS:
        message = flattened(messages, prompt, chars)
        tokens = count(message)
        if tokens <= most_tokens:
            return message
        chars = min(chars - 1, chars * most_tokens // tokens) * 9 // 10
    return None
