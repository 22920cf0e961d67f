"""When a plan is tried again: not for the same view, and again once something else may go."""

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.window.replan_throttle import ReplanThrottle
from amplifier_module_context_persistent.window.request import ViewRequest

BUDGET, TOKENS, MESSAGES = 100_000, 99_000, 200


def may_try(throttle: ReplanThrottle) -> bool:
    return throttle.may_try(ViewRequest(BUDGET), TOKENS, MESSAGES)


def test_a_futile_plan_is_tried_again_only_when_other_messages_are_pinned() -> None:
    """What was pinned may go then."""
    throttle = ReplanThrottle(Config())
    assert may_try(throttle)
    for pins in (frozenset({3}), frozenset({3, 4}), frozenset[int]()):
        throttle.record_futile(TOKENS, MESSAGES, BUDGET)
        assert not may_try(throttle)
        throttle.set_constraints(frozenset(), pins)
        assert may_try(throttle)
        throttle.record_futile(TOKENS, MESSAGES, BUDGET)
        throttle.set_constraints(frozenset(), pins)
        assert not may_try(throttle)
