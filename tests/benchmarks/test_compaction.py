"""The measures of the compaction benchmark, on sessions small enough to be counted by hand."""

import json

import pytest

from amplifier_module_context_persistent.toolbox.replay.measures import EvidenceCounts
from benchmarks import compaction
from benchmarks.compaction import Checked, means, missed, owing
from benchmarks.reader_measures import Owed
from tests.support.commands import shows
from tests.support.sweeps import proof


def row(policy="truncate", **values):
    measures = Checked("session-a", 40_000, policy, session_tokens=200_000, band=0.42)
    measures.request_tokens, measures.cached_tokens, measures.billed_ratio = [10_000] * 10, 90_000, 0.4
    measures.evidence = EvidenceCounts(100, 80, 80, 100)
    for name, value in values.items():
        group, _, one = name.rpartition("__")
        setattr(getattr(measures, group) if group else measures, one, value)
    return measures


@pytest.mark.parametrize(
    ("changed", "said_of_it"),
    [
        ({}, ""),
        ({"invalid": 1}, "invalid"),
        ({"request_tokens": [10_000] * 9 + [40_001]}, "over the budget"),
        ({"breaks": 13}, "breaks"),
        ({"cached_tokens": 10_000}, "stateless"),
        ({"evidence__original": 74}, "sliding"),
        ({"evidence__original": 72}, "at least 0.73"),
        ({"billed_ratio": 0.44}, "at most 0.43"),
        ({"evidence__recoverable": 99}, "99.0% of far evidence recoverable"),
    ],
)
def test_what_the_default_misses_is_named(changed, said_of_it):
    """Each thing that is required of the default is a sentence where it is not kept, and nothing where it is."""
    others = [row("stateless", cached_tokens=0), row("sliding", evidence__original=75)]
    found = missed([row(**changed), *others])
    assert bool(found) == bool(said_of_it)
    assert said_of_it in "\n".join(found)


def test_a_view_that_breaks_a_rule_is_counted():
    """With what is wrong, a few times."""
    measures, user = row(), {"role": "user", "content": "Go.", "metadata": {"message_id": "m1"}}
    measures.check([user], [user])
    assert measures.invalid == 0
    for _ in range(6):
        measures.check([user, {"role": "tool", "tool_call_id": "c", "name": "bash", "content": "done"}], [user])
    assert measures.invalid == 6
    assert len(measures.violations) == 5
    assert "results" in measures.violations[0]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, ""),
        ({"stale_views": 1}, "stale 0.050"),
        ({"last_words": 10, "last_words_shown": 7}, "answered 0.850"),
        ({"alone_sum": 31}, "alone 2.050"),
        ({"gaps": 20, "gaps_unmarked": 1}, "unmarked 0.025"),
        ({"inserted_tokens": 13_000}, "inserted_share 0.065"),
    ],
)
def test_what_views_owe_is_judged_by_means_over_budgets(changed, named):
    """One budget may miss it; the mean of all may not."""
    kept = {"views": 10, "alone_sum": 10, "gaps": 10, "last_words": 10, "last_words_shown": 10}
    inserted = {name: value for name, value in changed.items() if name == "inserted_tokens"}
    sums = {name: value for name, value in changed.items() if name not in inserted}
    found = means([row(owed=Owed(**kept)), row(owed=Owed(**{**kept, **sums}), **inserted)])
    assert list(found) == ["session-a"]
    assert found["session-a"]["billed"] == 0.4
    said = owing(found)
    assert len(said) == bool(named)
    assert named in "".join(said)


@proof
def test_the_program_prints_a_table_and_writes_json(tmp_path, capsys, monkeypatch):
    """Without transcripts it says so and plays the generated sessions, and all measures are in the file."""
    monkeypatch.setattr("benchmarks.sessions.GENERATED", ((1, 30),))
    out = tmp_path / "rows.json"
    given = ["--budgets", "9000", "--fast", "--tokenizer", "estimate", "--json", str(out)]
    assert compaction.main([*given, "--transcripts", str(tmp_path), "--seeds", "1"]) in (0, 1)
    printed = capsys.readouterr().out
    shows(printed, "no transcripts", "by the estimate")
    rows = json.loads(out.read_text())["rows"]
    assert [one["policy"] for one in rows] == [
        "none",
        "sliding",
        "truncate",
        "summarize",
        "native",
        "sliding_window",
        "importance",
    ]
    assert rows[0]["billed_ratio"] == 1
    assert {"cached_share", "far", "far_gain", "inserted_share", "mean_ms", "over"} <= set(rows[0])
    assert all(one["session"] in printed for one in rows)
