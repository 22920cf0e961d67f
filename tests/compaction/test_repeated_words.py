"""People's messages that repeat each other: only the newest copy stays whole."""

import pytest

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.plan_memory import PlanMemory
from amplifier_module_context_persistent.compaction.plan_request import ViewSoFar
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.repeated_words import shorten_repeated
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.entry import Entry, classify
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import check_total, count, draft_of, history, request_of
from tests.support.messages import Message

LINES = [f"{number}. The reviewer of part_{number} reads every line and tells what is missing." for number in range(40)]
SKILL = "\n".join(LINES)


def sent_again(*texts: str) -> list[Message]:
    """A task, and then these texts, with calls between them."""
    messages = history("u:9 t:9 " + "u:9 t:9 " * len(texts) + "a:9")
    for message, text in zip([one for one in messages if one["role"] == "user"][1:], texts, strict=True):
        message["content"] = text
    return messages


def test_only_the_newest_copy_stays_whole() -> None:
    """An older one keeps its beginning and what it alone says, and all of them stay."""
    messages = sent_again(*[f"{SKILL}\n\nThe target is {target}." for target in ("alpha", "beta", "gamma")])
    plan = compact(request_of(messages, 2_500)).plan
    assert {"m2", "m4", "m6"} <= set(plan.keep)
    for message, target in ((messages[3], "alpha"), (messages[6], "beta")):
        cut = plan.cuts[message["metadata"]["message_id"]]
        shown = shorten(classify(0, message, count), message, cut)["content"]
        assert shown.startswith("\n".join(LINES[:3]))
        assert shown.endswith(f"The target is {target}.")
        assert len(shown) < len(SKILL) / 4
    assert "m6" not in plan.cuts


def test_the_task_and_texts_of_their_own_stay_as_they_are() -> None:
    """The first message of a person may be sent again as well; and two texts may have a few lines in common."""
    other = "\n".join(line.replace("reviewer", "author") for line in LINES)
    messages = sent_again(
        other, f"{other[:300]}\n{other[1500:]}", SKILL, f"{SKILL[:700]}\n" + "other words\n" * 200, "go on"
    )
    messages[0]["content"] = other
    made = draft_of(messages, 4_000)
    shorten_repeated(made)
    check_total(made)
    assert set(made.cuts) == {"m2"}


def test_a_cut_that_saves_too_little_is_tried_again_if_newer_messages_repeat_other_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the same lines the next plan does not try it; with more of them, or another text, it does."""
    tried: list[str] = []
    cut = Draft.cut

    def recorded(draft: Draft, position: int, entry: Entry, how: Cut) -> None:
        tried.append(entry.id)
        cut(draft, position, entry, how)

    monkeypatch.setattr(Draft, "cut", recorded)
    own = SKILL.replace("reviewer", "author")
    memory = PlanMemory()

    known: dict[tuple[int, str], Entry] = {}

    def cuts(*texts: str) -> set[str]:
        messages = sent_again(*texts)
        for at, message in enumerate(messages):  # a message that has not changed has the same entry
            known.setdefault((at, str(message["content"])), classify(at, message, count))
        entries = [known[at, str(message["content"])] for at, message in enumerate(messages)]
        anew = draft_of(messages, 4_000)
        shorten_repeated(anew)
        tried.clear()
        made = draft_of(messages, 4_000, entries=entries, so_far=ViewSoFar(memory=memory))
        shorten_repeated(made)
        assert (made.cuts, made.cut_tokens, made.sizes) == (anew.cuts, anew.cut_tokens, anew.sizes)
        return set(made.cuts)

    few = f"{SKILL[:700]}\n{own}"
    assert (cuts(few, SKILL), tried) == (set(), ["m2"])
    assert (cuts(few, SKILL), tried) == (set(), [])
    assert (cuts(few, f"{SKILL}\n{own}"), tried) == ({"m2"}, ["m2"])
    assert (cuts(f"{SKILL[:700]}\n{own[:900]}\nand no more", SKILL), tried) == (set(), ["m2"])
