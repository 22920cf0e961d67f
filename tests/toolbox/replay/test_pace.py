"""A session as it happened: order and pauses."""

from datetime import UTC, datetime, timedelta

import pytest

from amplifier_module_context_persistent.sessions.transcript import LiveMessage, Turn
from amplifier_module_context_persistent.toolbox.replay import Seen
from amplifier_module_context_persistent.toolbox.replay.pace import Pace, Step, timeline

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Told:
    """A transcript of numbered messages."""

    def placed(self, start, stop):
        for place in range(start, stop):
            metadata = {"timestamp": f"2026-01-05T09:00:{place:02}Z"}
            yield LiveMessage(place + 1, {"role": "user", "content": str(place), "metadata": metadata}, tuple)


def seen(number, place):
    return Seen(number, place, "2026-01-05T09:00:00Z", 1, 2, [], None)


def order(steps):
    return [f"r{step.seen.number}" if step.seen else step.placed.message["content"] for step in steps]


def test_requests_stand_before_the_message_that_answered_them():
    """Those after the last message come at the end, and the turn of each is the one it was made in."""
    steps = list(timeline(Told(), [Turn(1, 0, 2), Turn(2, 2, 4)], [seen(1, 1), seen(2, 1), seen(3, 4)]))
    assert order(steps) == ["0", "r1", "r2", "1", "2", "3", "r3"]
    assert [step.turn for step in steps] == [1, 1, 1, 1, 2, 2, 2]
    assert [step.place for step in steps if step.placed] == [0, 1, 2, 3]


def test_a_session_without_messages_has_its_requests():
    """Where the history is empty by now, what was seen of it is still told."""
    assert order(timeline(Told(), [], [seen(1, 0)])) == ["r1"]


def message(second):
    at = None if second is None else START + timedelta(seconds=second)
    return Step(1, 0, at, placed=LiveMessage(1, {"role": "user"}, tuple))


@pytest.mark.parametrize(
    ("speed", "most", "pauses"),
    [(1, None, [0, 10, 0, 50, 0, 40]), (10, None, [0, 1, 0, 5, 0, 4]), (1, 15, [0, 10, 0, 15, 0, 15])],
)
def test_pauses_are_those_of_the_session(speed, most, pauses):
    """They last as long as between the messages' times, over the speed, at the most so long, and never backwards."""
    pace = Pace(speed, most)
    assert [pace.pause_s(message(second)) for second in (0, 10, None, 60, 30, 100)] == pauses


def test_a_request_follows_at_once():
    """The answer is what is waited for; the request's own time plays no part."""
    pace = Pace()
    request = Step(1, 0, START + timedelta(seconds=500), seen=seen(1, 0))
    assert [pace.pause_s(step) for step in (message(0), request, message(7))] == [0, 0, 7]
