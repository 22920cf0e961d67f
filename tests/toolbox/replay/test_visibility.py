"""What a view shows of a history, message by message."""

import pytest

from amplifier_module_context_persistent.toolbox.replay.visibility import Marker, Marks, Run, lost


def said(place, text):
    return {"role": "user", "content": text, "metadata": {"message_id": f"m{place}"}}


HISTORY = [said(place, f"text {place}") for place in range(8)]


def inserted(text):
    return {"role": "user", "content": text, "metadata": {"source": "context-compaction"}}


@pytest.fixture
def marker():
    places = {f"m{place}": place for place in range(8)}
    return Marker(places.get, lambda wanted: [HISTORY[place] for place in wanted])


def test_each_message_is_kept_elided_or_dropped(marker):
    """What says all that it said is kept, what says less is elided, what is not there is dropped."""
    marks = marker.mark([HISTORY[0], inserted("left out"), said(3, "te"), HISTORY[4], HISTORY[5]], 6)
    assert marks.runs() == [Run("kept", 0, 1), Run("dropped", 1, 3), Run("elided", 3, 4), Run("kept", 4, 6)]
    assert marks.counts() == {"kept": 3, "elided": 1, "dropped": 2, "summarised": 0}
    assert marks.inserted == 1
    assert [marks.of(place) for place in (0, 1, 3)] == ["kept", "dropped", "elided"]


def test_a_summary_stands_for_the_gap_that_it_is_in(marker):
    """What is missing where a summary was inserted is summarised; what is missing elsewhere is dropped."""
    marks = marker.mark([HISTORY[0], inserted("<summary>so far</summary>"), HISTORY[3], HISTORY[5]], 6)
    assert [(run.mark, run.start, run.stop) for run in marks.runs()] == [
        ("kept", 0, 1),
        ("summarised", 1, 3),
        ("kept", 3, 4),
        ("dropped", 4, 5),
        ("kept", 5, 6),
    ]
    everything = marker.mark([inserted("<summary>all</summary>")], 4)
    assert everything.runs() == [Run("summarised", 0, 4)]


def test_words_around_a_message_leave_it_kept(marker):
    """A system message that is shown as a reminder says all that it said."""
    marks = marker.mark([said(0, "<system-reminder>\ntext 0\n</system-reminder>")], 1)
    assert marks.runs() == [Run("kept", 0, 1)]


def test_what_stands_behind_the_request_is_not_marked(marker):
    """Only the messages before a request are its history; a message it cannot know counts as inserted."""
    marks = marker.mark([HISTORY[0], HISTORY[5]], 2)
    assert (marks.runs(), marks.inserted) == ([Run("kept", 0, 1), Run("dropped", 1, 2)], 1)
    assert Marks(0).runs() == []


def test_a_mark_follows_a_message_that_is_elided_later(marker):
    """What was kept in one view and is shortened in the next is elided there."""
    assert marker.mark(HISTORY[:2], 2).counts()["kept"] == 2
    assert marker.mark([said(0, "t"), HISTORY[1]], 2).counts() == {
        "kept": 1,
        "elided": 1,
        "dropped": 0,
        "summarised": 0,
    }


def test_what_a_compaction_took_away_is_told(marker):
    """Newly elided, dropped and summarised messages are counted; a view that only grew lost nothing."""
    before = marker.mark(HISTORY[:5], 5)
    assert lost(before, marker.mark(HISTORY[:6], 6), HISTORY[:6], marker, tokens_before=5, tokens_after=6) is None
    view = [said(0, "t"), inserted("<summary>x</summary>"), *HISTORY[3:4], *HISTORY[5:6]]
    found = lost(before, marker.mark(view, 6), view, marker, tokens_before=50, tokens_after=20)
    assert (found.elided, found.summarised, found.dropped) == (1, 2, 1)
    assert (found.tokens_before, found.tokens_after) == (50, 20)


def test_a_message_that_no_view_ever_shows_is_no_compaction(marker):
    """A blank message that is appended and left out takes nothing away."""
    before, after = marker.mark(HISTORY[:2], 2), marker.mark(HISTORY[:2], 3)
    assert lost(before, after, HISTORY[:2], marker, tokens_before=2, tokens_after=2) is None


def test_dropped_messages_with_a_name_that_is_shown_nowhere_are_counted():
    """Plain words, and names that stand elsewhere in the view, are no loss."""
    texts = ["see old_name", "see new_name", "see old_name and other_name", "words", "see new_name.py"]
    history = [said(place, text) for place, text in enumerate(texts)]
    marker = Marker({f"m{place}": place for place in range(5)}.get, lambda wanted: [history[at] for at in wanted])
    found = lost(marker.mark(history, 5), marker.mark(history[4:], 5), history[4:], marker)
    assert (found.dropped, found.lacking) == (4, 2)
