"""What hosts keep for readers of the history: no model sees it, and history keeps all of it."""

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import RecallError
from tests.support.messages import Message, user
from tests.support.recorded_sessions import Recorded

ORIGINAL = "original " * 3_000
TYPED = {**user("expanded"), "metadata": {"amplifier_public_message": {"blocks": [ORIGINAL]}, "legacy": "kept"}}
HIDDEN_KEYS = {"amplifier_public_reference_only": True, "amplifier_public_copy_source": {"of": ORIGINAL}}


def hidden(role: str = "user", text: str = f"only for readers {ORIGINAL}", **more: Any) -> Message:
    return {"role": role, "content": text, "metadata": HIDDEN_KEYS, **more}


def answer(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": f"signed {text}"},
                                             {"type": "text", "text": text}]}  # fmt: skip


@pytest.fixture
async def session(tmp_path: Path) -> Recorded:
    """A session that has such rows at every place of a turn."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=20_000)
    await session.add(hidden(), TYPED)
    await session.view()
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": "run", "arguments": {}}]}
    await session.add(
        hidden("assistant"),
        call,
        hidden("tool", tool_call_id="c1"),
        hidden("system"),
        {"role": "tool", "tool_call_id": "c1", "content": "ran"},
    )
    await session.view()
    await session.add(answer("done"), hidden("assistant"), user("on"))
    await session.view()
    return session


async def test_no_view_has_them(session: Recorded) -> None:
    """Rows for reference and the host's keys are in no view, before and after a plan; what is sent beside them is."""
    await session.manager.compact()
    await session.view()
    await session.restart()
    view = await session.view()
    assert "amplifier_public" not in str(session.views)
    assert "original" not in str(session.views)
    assert [message["role"] for message in view if message["role"] != "system"][:1] == ["user"]
    assert [view[0]["content"], view[0]["metadata"]["legacy"]] == ["expanded", "kept"]
    assert "ran" in str(view)
    await session.prove()


async def test_a_row_between_request_and_answer_takes_no_reasoning(session: Recorded) -> None:
    """The reasoning of an answer is shown, though such a row was added before it."""
    await session.add(hidden("assistant"), answer("after"))
    assert "signed after" in str(await session.view())
    await session.manager.close()


async def test_views_are_planned_without_them(session: Recorded) -> None:
    """They count nothing: forty times the budget of them leads to no plan."""
    for _ in range(40):
        await session.add(hidden())
    view = await session.view()
    await session.manager.close()
    assert len(view) == 5
    assert '"_record":"plan"' not in session.path.read_text().replace(" ", "")


async def test_history_keeps_them(session: Recorded) -> None:
    """The host gets them as it gave them, also after a restart."""
    await session.restart()
    history = await session.manager.get_messages()
    assert sum(message["metadata"].get("amplifier_public_reference_only") is True for message in history) == 5
    assert history[1]["metadata"]["amplifier_public_message"] == {"blocks": [ORIGINAL]}
    await session.manager.close()


async def test_the_model_cannot_recall_them(session: Recorded) -> None:
    """Neither by a search nor by their ids, nor by asking for a view that holds their text."""
    assert not (await session.manager.recall(query="only for readers")).hits
    row = (await session.manager.get_messages())[0]
    with pytest.raises(RecallError, match="not shown to a model"):
        await session.manager.recall(row["metadata"]["message_id"])
    with pytest.raises(ValueError, match="but no live message of this session contains it"):
        await session.manager.get_messages_for_request_retaining(retain_contents=[row["content"]])
    await session.manager.close()
