"""Views that were made by the first version of the rules for readers are proved as they were handed out."""

import json
import shutil
from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.view.recipients import RULES
from tests.support.places import ROOT
from tests.support.recorded_sessions import controls, made

LOG = ROOT / "fixtures" / "first-rules.jsonl"
"""A session that the version of 2026-11-24 wrote: answers in a row, reasoning of four models, and after
each answer a view for each of six readers and for nobody."""


def test_their_receipts_are_proved() -> None:
    """Each with the lines that were added, stored and shown then, and the reasoning that was left out then."""
    again = made(LOG)
    assert len(again) > 50
    assert [(one.proved, one.reasons) for one in again] == [(True, [])] * len(again)
    assert LOG.read_text().count('"line_before"') > 5


def test_views_with_a_call_without_a_name_are_proved() -> None:
    """It was sent without one; a later version sends `unknown`."""
    again = made(ROOT / "fixtures" / "unnamed-call.jsonl")
    assert [(one.proved, one.reasons) for one in again] == [(True, [])] * 4


async def test_the_session_goes_on_by_the_rules_in_force(tmp_path: Path) -> None:
    """New receipts say so, and all of them are proved."""
    shutil.copy(LOG, path := tmp_path / "log.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate") as manager:
        for reader in (None, "anthropic/claude-fable-5-2", "acme"):
            view = await manager.get_messages_for_request(provider=reader)
            assert ("[continued]" in json.dumps([message["content"] for message in view])) == (reader is not None)
    receipts = controls(path, "view")
    assert [one.get("render", {}).get("rules") for one in receipts[-4:]] == [None, RULES, RULES, RULES]
    assert all(one.proved for one in made(path))
