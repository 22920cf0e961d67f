"""The manager over a log in memory."""

from amplifier_module_context_persistent import InMemoryContextManager


async def test_it_keeps_no_file(tmp_path, monkeypatch, caplog) -> None:
    """Whatever the configuration says about files; and nobody is warned, since memory was asked for."""
    monkeypatch.chdir(tmp_path)
    manager = InMemoryContextManager(transcript_path="log.jsonl", session_id="s1", require_persistence=True)
    await manager.add_message({"role": "user", "content": "hello"})
    assert [message["content"] for message in await manager.get_messages()] == ["hello"]
    await manager.close()
    assert manager.log_path is None
    assert list(tmp_path.iterdir()) == []
    assert caplog.records == []


async def test_it_ends_with_its_object() -> None:
    """Another one begins anew, with the same session id too."""
    for _ in range(2):
        manager = InMemoryContextManager(session_id="s1")
        assert await manager.get_messages() == []
        await manager.add_message({"role": "user", "content": "hello"})
        await manager.close()
