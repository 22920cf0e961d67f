"""The order in which hosts see a history: placed messages follow the message that they name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.host_order import host_order, with_place
from tests.support.messages import Message


def message(own_id: str, after: str | None = None) -> Message:
    plain: Message = {"role": "user", "content": own_id, "metadata": {"message_id": own_id}}
    return plain if after is None else with_place(plain, after, unseen=False)


def ids(*messages: Message) -> str:
    return " ".join(messages[position]["content"] for position in host_order(messages))


def test_placed_messages_follow_the_ones_that_they_name() -> None:
    """Several at one place keep their order, and one may follow another placed one."""
    assert ids(message("a"), message("b"), message("c", "a"), message("d", "a"), message("e", "c")) == "a c e d b"


def test_a_message_without_its_place_stays_where_it_was_appended() -> None:
    """The message before it was removed, comes later, or is the message itself."""
    assert ids(message("a", "gone"), message("b", "c"), message("c"), message("d", "d")) == "a b c d"


def test_a_long_chain_of_places_is_followed() -> None:
    """Ten thousand messages, each after the one before it, need no recursion."""
    chain = [message("0"), message("end"), *(message(str(n), str(n - 1)) for n in range(1, 10_000))]
    assert host_order(chain) == [0, *range(2, 10_001), 1]


@given(st.lists(st.tuples(st.integers(0, 6), st.one_of(st.none(), st.integers(0, 6))), max_size=12))
def test_nothing_is_lost_or_doubled(rows: list[tuple[int, int | None]]) -> None:
    """Whatever places messages name, also with ids that occur twice."""
    messages = [message(f"m{own}", None if after is None else f"m{after}") for own, after in rows]
    assert sorted(host_order(messages)) == list(range(len(messages)))


def test_marks_say_what_views_leave_out() -> None:
    """The message is copied, and keeps its metadata."""
    plain = {"role": "tool", "content": "r", "metadata": {"source": "x"}}
    assert with_place(plain, "m1", unseen=True)["metadata"] == {"source": "x", "placed_after": "m1", "unseen": True}
    assert plain["metadata"] == {"source": "x"}
