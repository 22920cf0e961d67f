"""`redact_on_write`: keys of known services are replaced before a message is stored, and the caller is told."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support import real_sessions
from tests.support.messages import Message, fill, user
from tests.support.secret_forms import sample
from tests.support.sweeps import proof

TOKEN = sample("ghp_{a36}", 1)
OTHER = sample("npm_{a36}", 2)
ROWS = "row\n" * 2_000
MESSAGES: list[Message] = [
    {"role": "user", "content": f"my token is \x1b[32m{TOKEN}\x1b[0m"},
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": f"use {TOKEN}", "signature": "s"}, {"type": "text", "text": "ok"}],
        "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {"command": f"curl -H 'X: {TOKEN}' x", "n": [OTHER]}}],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": f"token%3D{TOKEN} and DB_PASSWORD=hT7kQ2mZ9xLw"},
]


def files_with_the_token(directory: Path) -> list[Path]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path for path in files if TOKEN in path.read_text("utf-8", "replace")]


class Session:
    """A session in its directory, and the events that it emitted."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / LOG_NAME
        self.host = real_sessions.Host(display=real_sessions.Display())

    def open(self, **options: Any) -> PersistentContextManager:
        return PersistentContextManager(
            self.log, coordinator=self.host, session_id="s1", tokenizer="estimate", **options
        )

    @property
    def redactions(self) -> list[dict[str, Any]]:
        return [one for event in self.host.of("context:redacted_on_write") for one in event["redactions"]]

    def stored(self) -> str:
        return self.log.read_text("utf-8")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


async def test_it_is_off_by_default(session: Session) -> None:
    """Then the log has what was said."""
    async with session.open() as manager:
        await fill(manager, [dict(message) for message in MESSAGES])
    assert TOKEN in session.stored()
    assert session.redactions == []


async def test_keys_of_known_services_are_never_written(session: Session) -> None:
    """In texts, behind colours and encodings, in arguments; a thinking block that has one goes; other text stays."""
    async with session.open(redact_on_write=True) as manager:
        await fill(manager, MESSAGES)
        view = await manager.get_messages_for_request()
    assert TOKEN not in session.stored()
    assert OTHER not in session.stored()
    assert TOKEN not in str(view)
    assert "DB_PASSWORD=hT7kQ2mZ9xLw" in session.stored()
    assert '"signature":"s"' not in session.stored()
    assert f"my token is \\u001b[32m{REDACTED}\\u001b[0m" in session.stored()
    assert TOKEN in str(MESSAGES), "the caller's messages are not changed"


async def test_text_in_base64_with_a_key_of_a_known_service_is_never_written(session: Session) -> None:
    """The run goes whole; text without a key stays."""
    with_key = base64.b64encode(f"API_TOKEN={TOKEN}\nDEBUG=1\n".encode()).decode()
    without = base64.b64encode(b"DEBUG=1\nLEVEL=info\nHOST=localhost\n").decode()
    async with session.open(redact_on_write=True) as manager:
        await manager.add_message({"role": "user", "content": f"{with_key} and {without}"})
    assert with_key[20:40] not in session.stored()
    assert without in session.stored()


DUMP = "\n".join([f"{at:08x}: {TOKEN.encode()[at : at + 16].hex(' ')}  {TOKEN[at : at + 16]}" for at in (0, 16, 32)])
RECOVERY = [f"{11 * number:06}" for number in (17325, 42145, 34214, 32915, 61354, 64063, 28696, 26874)]


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (f"k = 'ghp_' + '{TOKEN[4:]}'", [TOKEN[4:]]),
        (f"k = ['ghp_', '{TOKEN[4:]}'].join('')", [TOKEN[4:]]),
        (f"k = '{TOKEN[:20]}'\n    '{TOKEN[20:]}'", [TOKEN[:20], TOKEN[20:]]),
        (f"Recovery: {'-'.join(RECOVERY)}", RECOVERY),
        (f"Recovery: {''.join(RECOVERY)}", RECOVERY),
        (DUMP, [TOKEN[:16]]),
    ],
    ids=["joined", "joined by a call", "on two lines", "groups", "digits", "hex dump"],
)  # fmt: skip
async def test_keys_in_pieces_and_recovery_keys_are_never_written(
    session: Session, text: str, secrets: list[str]
) -> None:
    """As exports find them; what needs a name beside it stays."""
    async with session.open(redact_on_write=True) as manager:
        await fill(manager, [user(f"{text}\nDB_PASSWORD=hT7kQ2mZ9xLw")])
    stored = session.stored()
    assert not [secret for secret in secrets if secret in stored]
    assert "hT7kQ2mZ9xLw" in stored


async def test_the_caller_is_told_what_and_where_and_never_the_value(session: Session) -> None:
    """Number of the message in the call, role, field and kind."""
    async with session.open(redact_on_write=True) as manager:
        await manager.add_messages(MESSAGES)
    assert {(one["message"], one["role"], one["field"], one["kind"]) for one in session.redactions} == {
        (1, "user", "content", "GitHub token"),
        (2, "assistant", "content[0].thinking", "GitHub token"),
        (2, "assistant", "tool_calls[0].arguments.command", "GitHub token"),
        (2, "assistant", "tool_calls[0].arguments.n[0]", "npm token"),
        (3, "tool", "content", "GitHub token"),
    }
    assert TOKEN not in str(session.host.of("context:redacted_on_write"))


async def test_arguments_in_a_json_text_are_told_too(session: Session) -> None:
    """Some hosts keep a call's arguments as text."""
    async with session.open(redact_on_write=True) as manager:
        call = {"id": "c1", "tool": "bash", "arguments": f'{{"command": "echo {TOKEN}"}}'}
        await manager.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
    assert [one["field"] for one in session.redactions] == ["tool_calls[0].arguments.command"]
    assert TOKEN not in session.stored()


@proof
async def test_what_is_handed_back_is_recognised(session: Session) -> None:
    """A host that kept its own copy resumes with it: nothing is stored twice, and no key is written."""
    given = [user(f"{number}: {TOKEN}") for number in range(3)]
    async with session.open(redact_on_write=True) as manager:
        await fill(manager, given)
    async with session.open(redact_on_write=True) as manager:
        await manager.set_messages([*given, user(f"new {TOKEN}")])
        history = await manager.get_messages()
    assert [message["content"] for message in history] == [f"{n}: {REDACTED}" for n in range(3)] + [f"new {REDACTED}"]
    assert TOKEN not in session.stored()


async def test_long_and_short_messages_keep_their_order(session: Session) -> None:
    """A long one is searched in a thread; those that are added behind it come behind it."""
    given = [user(f"{number} {'lorem ipsum ' * (5_000 if number % 3 == 0 else 1)}{TOKEN}") for number in range(12)]
    async with session.open(redact_on_write=True, durability="write") as manager:
        await asyncio.gather(*(manager.add_message(message) for message in given))
        history = await manager.get_messages()
    assert [message["content"].split()[0] for message in history] == [str(number) for number in range(12)]
    assert TOKEN not in session.stored()


async def test_an_offloaded_result_has_no_key_either(session: Session, tmp_path: Path) -> None:
    """What a session writes beside its log is redacted before."""
    async with session.open(redact_on_write=True, offload_threshold=100) as manager:
        await manager.add_message(MESSAGES[1])
        await manager.add_message({**MESSAGES[2], "content": ROWS + TOKEN + ROWS})
    assert files_with_the_token(tmp_path) == []


async def test_a_message_says_how_many_keys_it_had(session: Session) -> None:
    """In its metadata, by kind; a message without any has none of it."""
    async with session.open(redact_on_write=True) as manager:
        await fill(manager, [user(f"{TOKEN} {TOKEN} {OTHER}"), user("hello")])
        first, second = await manager.get_messages()
    assert first["metadata"]["redacted"] == {"GitHub token": 2, "npm token": 1}
    assert "redacted" not in second["metadata"]


async def test_a_key_that_is_an_id_stays_and_is_told(session: Session) -> None:
    """Results are matched with calls by it; the event says that it is kept."""
    call = {"id": f"call-{TOKEN}", "tool": "bash", "arguments": {"id": OTHER}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "name": "bash", "content": "done"},
    ]
    async with session.open(redact_on_write=True) as manager:
        for message in messages:
            await manager.add_message(message)
    told = [(one["field"], one.get("kept", False)) for one in session.redactions]
    assert sorted(told) == [("tool_call_id", True), ("tool_calls[0].arguments.id", False), ("tool_calls[0].id", True)]
    assert session.stored().count(TOKEN) == 2
    assert OTHER not in session.stored()


async def test_the_reason_of_a_pin_and_of_a_hidden_turn_is_redacted_too(tmp_path: Path) -> None:
    """A model gives these reasons, with the tool `pin` for example."""
    session = Session(tmp_path)
    async with session.open(redact_on_write=True) as manager:
        await manager.add_messages([user("one"), {"role": "assistant", "content": "ok"}, user("two")])
        first = (await manager.get_messages())[0]["metadata"]["message_id"]
        await manager.pin(first, reason=f"it has {TOKEN}")
        await manager.hide(1, reason=f"it names {TOKEN}")
    assert not files_with_the_token(tmp_path)
    assert session.log.read_text().count(REDACTED) == 2
