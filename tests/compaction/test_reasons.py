"""Why a view shows a message, or not."""

from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.reasons import why
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.view.render import render
from tests.support.drafts import named, request_of

PLAIN = "nothing of note was said in here at all today\n" * 40
NAMES = "".join(f"see src/core/module_name_{n}.py\n" for n in range(4))


def reasons(texts: list[str], *messages: int, budget: int = 1_000) -> list[str]:
    """Why the view of a session of these results shows, or does not show, some of its messages."""
    history = named(texts)
    request = request_of(history, budget, protected_recent=0.0)
    view = render(compact(request).arrangement, request.fetch)
    return why(view, [history[number] for number in messages], Config.load(), budget)


def test_what_is_left_out_says_where_its_names_are_shown() -> None:
    """So that a person sees that nothing was lost, or what was."""
    texts = ["start", PLAIN, NAMES + PLAIN, NAMES * 9, "short"]
    assert reasons(texts, 3, 4, budget=500) == ["Left out: it has no path, name or id that could be needed again."]
    (said,) = reasons(texts, 5, 6, budget=500)
    assert said == "Left out: everything it names is shown in m8."


def test_what_is_lost_is_named() -> None:
    """Where the view shows it nowhere."""
    (said,) = reasons(["start", NAMES + PLAIN, PLAIN, "x", "y"], 3, 4, budget=100)
    assert said.startswith("Left out: module_name_0, module_name_1, ")
    assert said.endswith("cost more room than others did.")


def test_what_is_shown_says_which_promise_holds_it() -> None:
    """And what nothing else shows."""
    assert reasons([PLAIN, "short"], 0)[0].startswith("Shown: what stays. System text, pins")
    said = reasons([NAMES, "short"], 1, 2, budget=4_000)
    assert said[-1].startswith("Nothing else in the view shows module_name_0")
