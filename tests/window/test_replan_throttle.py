"""When a plan is tried again: not for the same view, and again once something else may go."""

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.window.replan_throttle import ReplanThrottle
from amplifier_module_context_persistent.window.request import ViewRequest

BUDGET, TOKENS, MESSAGES = 100_000, 99_000, 200


def wants_plan(throttle: ReplanThrottle) -> bool:
    return throttle.wants_plan(ViewRequest(BUDGET), TOKENS, MESSAGES)


def test_a_futile_plan_is_tried_again_only_when_other_messages_are_pinned() -> None:
    """What was pinned may go then."""
    throttle = ReplanThrottle(Config())
    assert wants_plan(throttle)
    for pins in (frozenset({3}), frozenset({3, 4}), frozenset[int]()):
        throttle.record_futile(TOKENS, MESSAGES, BUDGET)
        assert not wants_plan(throttle)
        throttle.set_constraints(frozenset(), pins)
        assert wants_plan(throttle)
        throttle.record_futile(TOKENS, MESSAGES, BUDGET)
        throttle.set_constraints(frozenset(), pins)
        assert not wants_plan(throttle)
