"""Plans that older versions stored give the same bytes as they gave then.

`golden/` has one session as two versions wrote it, each with several plans and a receipt of every view: one from before
gaps were marked, one from after; and a session with three providers from before receipts had `bound`. They are never
written anew; a version that stores other plans adds a log of its own.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.replay import Seen, open_transcript, requests

GOLDEN = Path(__file__).parent / "golden"
BUDGET = 2_400
REOPENED = {
    "before-gaps-were-marked": "d3c34c1706bbff47d4c9cf6fe5e226a139e083a8f2a1ee1364a4de5574fc49a5",
    "with-marked-gaps": "3a567913dfdfa8a6b7deb17856791825b605e09f3d4a62e170f1841e8fe941a5",
}
"""By log, the digest of the view that the version which wrote it gave when it had opened the log again; of the second
one without the reasoning that nobody can tell to stand as it was made."""


def plans(name: str) -> list[dict[str, Any]]:
    """The plan records of a log."""
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for line in lines if (record := json.loads(line)).get("_record") == "plan"]


@pytest.mark.parametrize("name", REOPENED)
def test_every_view_is_made_again_as_its_receipt_says(name: str) -> None:
    """Under each plan that the log has, byte for byte."""
    with open_transcript(GOLDEN / f"{name}.jsonl") as transcript:
        seen: list[Seen] = list(requests(transcript))
    assert [one.number for one in seen if not one.proof.is_proved] == []
    assert len({one.proof.plan for one in seen if one.proof.plan}) == len(plans(name)) == 4
    assert len(seen) == 37


def test_views_with_excerpts_are_made_again_as_their_receipts_say() -> None:
    """Of plans whose cuts have marks at every gap, rows that are whole, and words that end at paragraphs."""
    with open_transcript(GOLDEN / "with-excerpts.jsonl") as transcript:
        seen = list(requests(transcript))
    assert [one.number for one in seen if not one.proof.is_proved] == []
    cuts = [cut[2] for plan in plans("with-excerpts") for cut in plan["cuts"].values() if len(cut) == 3]
    assert sum("excerpt" in cut for cut in cuts) > 50
    assert any("lines" in cut for cut in cuts)
    assert any("brief" in cut for cut in cuts)


def test_views_that_older_rules_made_for_a_provider_say_so() -> None:
    """Receipts from before there was `bound` name the rules, which are gone; views of everybody are made again."""
    with open_transcript(GOLDEN / "before-bound.jsonl") as transcript:
        seen = list(requests(transcript))
    assert len(seen) == 25
    assert sum(one.proof.is_proved for one in seen) == 8
    assert all("unknown here: bonds" in str(one.proof.lacks) for one in seen if not one.proof.is_proved)


@pytest.mark.parametrize("name", REOPENED)
async def test_a_session_goes_on_under_its_old_plan(name: str, tmp_path: Path) -> None:
    """The first view after the log was opened again has the bytes that the older version gave, whatever the pause."""
    path = tmp_path / "session.jsonl"
    shutil.copy(GOLDEN / f"{name}.jsonl", path)
    options = {"max_tokens": BUDGET, "tokenizer": "estimate", "durability": "write", "cache_ttl_s": 0}
    async with PersistentContextManager(path, **options) as manager:
        view = await manager.get_messages_for_request()
    written = json.dumps(view, sort_keys=True, ensure_ascii=True).encode()
    assert hashlib.sha256(written).hexdigest() == REOPENED[name]


def test_the_logs_are_of_different_versions() -> None:
    """Plans of the one name no gaps, those of the other do, as lines of results and as messages of their own."""
    assert not any("gaps" in plan for plan in plans("before-gaps-were-marked"))
    gaps = [gap for plan in plans("with-marked-gaps") for gap in plan["gaps"]]
    assert {bool(after) for _, after, *_ in gaps} == {True, False}
