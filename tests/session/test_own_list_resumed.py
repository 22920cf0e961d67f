"""An agent without a host resumes a session and sets its own list: nothing it adds is lost, and nothing comes back."""

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


OLD = [user("1"), agent("ok"), user("yes"), agent("ok")]
CHANGES = ["rewind", "pop", "clear"]


def said(messages: list[Message]) -> list[Any]:
    return [message["content"] for message in messages]


async def change(manager: PersistentContextManager, how: str) -> None:
    if how == "rewind":
        await manager.rewind(to=1)
    elif how == "clear":
        await manager.clear()
    else:
        await manager.pop()
        await manager.pop()


async def begun(path: Path, how: str = "") -> None:
    """A process that says `OLD`, and changes the history if this is asked."""
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(OLD)
        if how:
            await change(manager, how)


@pytest.mark.parametrize("has_ids", [True, False])
async def test_words_that_were_said_before_are_stored_again(tmp_path: Path, *, has_ids: bool) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager:
        own = await manager.get_messages() if has_ids else [*OLD]
        for message in (user("yes"), agent("ok"), user("yes")):
            own.append(message)
            await manager.set_messages(own)
            assert said(await manager.get_messages()) == said(own)


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("new", [[user("yes"), agent("other")], [user("yes")], [user("unheard")]], ids=str)
@pytest.mark.parametrize("has_ids", [True, False])
async def test_an_agent_goes_on_after_its_own_change(
    tmp_path: Path, how: str, new: list[Message], *, has_ids: bool
) -> None:
    """Also with the words that were hidden: it knows that they are gone."""
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager:
        await change(manager, how)
        left = await manager.get_messages()
        own = [*left] if has_ids else [{"role": one["role"], "content": one["content"]} for one in left]
        await manager.set_messages([*own, *new])
        assert said(await manager.get_messages()) == [*said(left), *said(new)]


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("new", [[user("yes"), agent("other")], [user("unheard")]], ids=str)
@pytest.mark.parametrize("has_ids", [True, False])
async def test_an_agent_goes_on_after_an_earlier_process_changed_the_history(
    tmp_path: Path, how: str, new: list[Message], *, has_ids: bool
) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path, how)
    async with PersistentContextManager(path) as manager:
        left = await manager.get_messages()
        own = [*left] if has_ids else [{"role": one["role"], "content": one["content"]} for one in left]
        await manager.set_messages([*own, *new])
        assert said(await manager.get_messages()) == [*said(left), *said(new)]


@pytest.mark.parametrize("how", CHANGES)
async def test_an_old_list_does_not_bring_back_what_was_hidden(tmp_path: Path, how: str) -> None:
    """What is new behind it is taken all the same."""
    path = tmp_path / "log.jsonl"
    await begun(path, how)
    async with PersistentContextManager(path) as manager:
        left = said(await manager.get_messages())
        await manager.set_messages(OLD)
        assert said(await manager.get_messages()) == left
        own = [*OLD]
        new = []
        for text in ("unheard", "2", "3"):
            own.append(user(text))
            new.append(text)
            await manager.set_messages(own)
            assert said(await manager.get_messages()) == [*left, *new]


async def test_another_process_rewinds_while_the_agent_runs(tmp_path: Path) -> None:
    """Its list, with the ids of an earlier reading, does not undo the rewind."""
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager, PersistentContextManager(path) as other:
        own = [*await manager.get_messages(), user("2"), agent("b")]
        await manager.set_messages(own)
        await other.rewind(to=2)
        await manager.set_messages(own)
        assert said(await manager.get_messages()) == said(OLD)


async def test_an_agent_may_change_what_it_added_itself(tmp_path: Path) -> None:
    """It sets the beginning of an answer, then the whole one. What was loaded stays."""
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([*OLD, user("2"), agent("The fi")])
        await manager.set_messages([*OLD, user("2"), agent("The first")])
        final = [*OLD, user("2"), agent("The first prime is 2."), user("3")]
        await manager.set_messages(final)
        assert said(await manager.get_messages()) == said(final)
        await manager.set_messages([user("forged"), *final[1:], agent("b")])
        assert said(await manager.get_messages()) == said(final)
    assert path.read_bytes().count(b'"2"') == 1


async def test_an_agent_does_not_hide_what_another_process_added(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager, PersistentContextManager(path) as other:
        await manager.set_messages([*OLD, user("2"), agent("draft")])
        await other.add_message(user("from elsewhere"))
        await manager.set_messages([*OLD, user("2"), agent("final")])
        assert said(await manager.get_messages()) == [*said(OLD), "2", "draft", "from elsewhere"]


async def test_a_list_that_was_ignored_is_not_known_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path)
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([*OLD, user("2"), agent("part")])
        await manager.add_message(user("typed"))
        for _ in range(2):
            await manager.set_messages([*OLD, user("2"), agent("whole"), user("typed")])
            assert said(await manager.get_messages()) == [*said(OLD), "2", "part", "typed"]


async def test_a_repeated_word_after_a_reset_is_not_taken_for_the_hidden_one(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([user("1"), agent("ok"), user("2"), agent("b"), user("continue")])
        await manager.rewind(to=1)
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([user("1"), agent("ok"), user("continue"), agent("new work")])
        assert said(await manager.get_messages()) == ["1", "ok", "continue", "new work"]


async def test_timed_messages_need_no_reset(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path)
    resets = path.read_bytes().count(b"reset_begin")
    async with PersistentContextManager(path) as manager:
        own = [*OLD]
        for second in range(4):
            own.append(user(f"m{second}") | {"metadata": {"timestamp": f"2031-01-01T00:00:0{second}Z"}})
            await manager.set_messages(own)
    assert path.read_bytes().count(b"reset_begin") == resets


async def test_an_agent_with_memory_files_may_change_what_it_added(tmp_path: Path) -> None:
    (tmp_path / "M.md").write_text("memo")
    path = tmp_path / "log.jsonl"
    files = [str(tmp_path / "M.md")]
    async with PersistentContextManager(path, memory_files=files) as manager:
        await manager.set_messages(OLD)
    async with PersistentContextManager(path, memory_files=files) as manager:
        await manager.set_messages([*OLD, user("2"), agent("The fi")])
        await manager.set_messages([*OLD, user("2"), agent("The first"), user("3")])
        assert said(await manager.get_messages())[-3:] == ["2", "The first", "3"]


@pytest.mark.parametrize("is_own_clear", [True, False])
async def test_an_answer_that_grows_is_stored_after_a_clear(tmp_path: Path, *, is_own_clear: bool) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path, "" if is_own_clear else "clear")
    async with PersistentContextManager(path) as manager:
        if is_own_clear:
            await manager.clear()
        for own in ([user("2")], [user("2"), agent("I wi")], [user("2"), agent("I will."), user("3")]):
            await manager.set_messages(own)
            assert said(await manager.get_messages()) == said(own)


async def test_ephemeral_messages_in_a_list_are_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    hint = user("hint") | {"metadata": {"ephemeral": True}}
    await begun(path)
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([*OLD, hint, user("2"), agent("dra")])
        await manager.set_messages([*OLD, hint, user("2"), agent("draft done"), user("3")])
        assert said(await manager.get_messages()) == [*said(OLD), "2", "draft done", "3"]


@pytest.mark.parametrize("edited", [agent("cd"), agent("ab") | {"tool_calls": []}], ids=["text", "call"])
async def test_an_edit_of_the_same_length_is_an_edit(tmp_path: Path, edited: Message) -> None:
    path = tmp_path / "log.jsonl"
    await begun(path)
    call = {"id": "c1", "tool": "run", "arguments": {"c": "ls"}}
    other_call = {"id": "c1", "tool": "run", "arguments": {"c": "rm"}}
    first, second = agent("ab"), edited
    if "tool_calls" in edited:
        first, second = first | {"tool_calls": [call]}, edited | {"tool_calls": [other_call]}
    result = {"role": "tool", "tool_call_id": "c1", "name": "run", "content": "done"}
    after = [result] if "tool_calls" in edited else []
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([*OLD, user("2"), first, *after, user("3")])
        await manager.set_messages([*OLD, user("2"), second, *after, user("3"), agent("new")])
        stored = await manager.get_messages()
        assert said(stored)[-1] == "new"
        assert stored[5].get("tool_calls") == second.get("tool_calls")
        assert stored[5]["content"] == second["content"]


async def test_the_words_of_a_second_rewind_do_not_come_back_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        for text in ("2", "3"):
            await manager.set_messages([user("1"), agent("ok"), user(text)])
            await manager.rewind(to=1) if text == "3" else await manager.pop()
    async with PersistentContextManager(path) as manager:
        left = said(await manager.get_messages())
        await manager.set_messages([user("1"), agent("ok"), user("3")])
        assert said(await manager.get_messages()) == left
