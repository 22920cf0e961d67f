"""Thirty things that a newcomer looks for, each with the file where it is: the names of files should tell it.

Readers who have seen nothing but the list of files are asked from time to time (CONTRIBUTING.md says how); a name that
misleads them is changed.
"""

import pytest

from tests.support.places import ROOT

PACKAGE = ROOT / "amplifier_module_context_persistent"

QUESTIONS = {
    "Where is the end of a file that a crash left torn put aside before it is cut?": "log/torn_tail.py",
    "Where does one message become one line with its checksum?": "log/record_line.py",
    "Where are the appends of many tasks brought together, so that they cost one sync?": "log/group_commit.py",
    "Where is found out which messages a reset took out of the history?": "log/reset_effects.py",
    "Where is decided that a log of a later version of the format is not written to?": "log/format_version.py",
    "Where does a process wait for another one that is writing the same log?": "log/lock.py",
    "Where are whole records found inside a damaged line?": "log/salvage.py",
    "Where is a location, a path or a URL, turned into the log that is opened there?": "log/open_log.py",
    "Where are the tables of the database created?": "log/postgres/schema.py",
    "Where does it say what a view always keeps, such as the list of what to do?": "compaction/always_kept.py",
    "Where is computed what it costs to leave a group of messages out?": "compaction/losses.py",
    "Where is the text written that tells the model how many messages are left out?": "compaction/markers.py",
    "Where does it say how many images, and of what size, a provider takes?": "compaction/provider_limits.py",
    "Where is decided that a view is full enough to need a new plan?": "window/when_to_plan.py",
    "Where is found out whether a thinking block is still valid in a view?": "view/bound_reasoning.py",
    "Where are call ids and tool names changed that a provider would refuse?": "view/ids_and_names.py",
    "Where are the rules that each call has its result, right after it?": "view/calls_and_results.py",
    "Where is a view of last week made again, and proved to be what was sent?": "transcript/view_rebuild.py",
    "Where is told from a tool's result whether the call failed?": "messages/outcome.py",
    "Where are the patterns of API keys and other secrets?": "messages/secret_formats.py",
    "Where are tokens counted where no vocabulary is at hand?": "tokens/estimate.py",
    "Where do the tokens that a provider reports correct our own counts?": "tokens/calibration.py",
    "Where is compared what a host sets after a resume with what the log has?": "session/reconcile.py",
    "Where is kept a turn out of the views without removing it?": "session/pin_and_hide.py",
    "Where are sessions of Codex read?": "transfer/importers/codex.py",
    "Where are old messages removed from a log for good?": "maintenance/purge.py",
    "Where is kept what a list of sessions shows of each, so as not to read it?": "catalogue/session_list_cache.py",
    "Where is a session played request by request under another policy?": "replay/play_session.py",
    "Where are all options with their defaults?": "config/option_table.py",
    "Where is a session looked up by the beginning of its name?": "transcript/find_session.py",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_newcomer_looks_for_is_where_the_list_says(question: str) -> None:
    """The list follows the files."""
    assert (PACKAGE / QUESTIONS[question]).is_file()


def test_there_are_thirty() -> None:
    """As many as the figure in CONTRIBUTING.md is of."""
    assert len(QUESTIONS) == 30
