"""A log opened to be looked at."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.record_line import Message
from amplifier_module_context_persistent.sessions.transcript import Transcript, Turn
from amplifier_module_context_persistent.view.turns import TurnCount

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
    {"role": "user", "content": "<system-reminder>no turn begins here</system-reminder>"},
    {"role": "assistant", "content": "Yes?"},
    {"role": "user", "content": "Bye."},
]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A session of two turns, with a request in each."""
    async with PersistentContextManager(tmp_path / "log.jsonl", session_id="seen") as manager:
        for message in MESSAGES:
            if message["role"] == "assistant" or message is MESSAGES[-1]:
                await manager.get_messages_for_request()
            await manager.add_message(message)
    return tmp_path / "log.jsonl"


async def test_messages_are_the_live_history(path: Path) -> None:
    """All of them, or a part by places."""
    async with PersistentContextManager(path) as manager:
        stored = await manager.get_messages()
    with Transcript(path) as transcript:
        assert list(transcript.messages()) == stored
        assert list(transcript.messages(1, 3)) == stored[1:3]
        assert (len(transcript), transcript.path, transcript.header["session_id"]) == (5, str(path), "seen")


def test_messages_are_placed_and_picked(path: Path) -> None:
    """By place, role and line; what is refused by its line is not parsed."""
    with Transcript(path) as transcript:
        assert [placed.number for placed in transcript.placed()] == [1, 2, 3, 4, 5]
        assert [placed.number for placed in transcript.placed(1, 3)] == [2, 3]
        assert [placed.number for placed in transcript.placed(-1)] == [5]
        assert [placed.number for placed in transcript.placed(role="user")] == [2, 3, 5]
        assert [placed.number for placed in transcript.placed(may_match=lambda line: b"ye" in line.lower())] == [4, 5]
        assert [placed.message for placed in transcript.placed()] == list(transcript.messages())


def test_lines_that_others_wrote_are_parsed_whatever_they_hold(tmp_path: Path) -> None:
    """Their JSON may write a text in many ways."""
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "a"}\n')
    with Transcript(tmp_path / "log.jsonl") as transcript:
        assert len(list(transcript.placed(may_match=lambda _: False))) == 1


def test_a_turn_begins_at_a_human_message(path: Path) -> None:
    """What stands before the first one belongs to its turn; reminders begin none."""
    with Transcript(path) as transcript:
        turns = transcript.turns()
        assert list(turns) == [Turn(1, 0, 4), Turn(2, 4, 5)]
        assert (turns[-1], turns[:1], turns[1:1]) == (Turn(2, 4, 5), [Turn(1, 0, 4)], [])
        assert [len(turn) for turn in transcript.turns()] == [4, 1]


@pytest.mark.parametrize("content", [[], [{"role": "assistant", "content": "Alone."}]])
def test_a_history_without_a_human_is_one_turn_or_none(tmp_path: Path, content: list[dict[str, str]]) -> None:
    """An empty log has no turn, and one without a human message has one."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(orjson.dumps(message) + b"\n" for message in content))
    with Transcript(tmp_path / "log.jsonl") as transcript:
        assert [len(turn) for turn in transcript.turns()] == [len(content)] * len(content)


def test_turns_are_numbered_without_reading_ahead(path: Path) -> None:
    """A message begins the same turn, whether all turns are known or only what came before it was read."""
    with Transcript(path) as transcript:
        begins = {turn.start: turn.number for turn in transcript.turns()}
        read, last = transcript.reader.read, -1

        def reading(ordinals: Sequence[int]) -> Iterator[Message]:
            nonlocal last
            last = max([last, *ordinals])
            return read(ordinals)

        for first in range(len(transcript)):  # a range begins anywhere
            turns = TurnCount(transcript.reader.index, reading)
            last = -1
            for position, message in enumerate(transcript.messages(first), first):
                assert turns.begun_by(position, message) == begins.get(position)
                assert last < position
        assert begins == {0: 1, 4: 2}


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It is never taken for an empty session."""
    with pytest.raises(LogUnreadableError, match="no such file"):
        Transcript(tmp_path / "nobody.jsonl")


def test_a_transcript_shows_its_file_and_how_many_messages_are_live(tmp_path):
    """As a manager does."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"role":"user","content":"one"}\n{"role":"assistant","content":"two"}\n')
    with Transcript(path) as transcript:
        assert repr(transcript) == f"<Transcript {path}: 2 messages>"
