"""A log with a numbered conversation, and windows on it."""

import itertools
from collections.abc import Sequence
from typing import Any

from amplifier_module_context_persistent.compaction.provider_limits import RequestLimits
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.view.entry import Entry, classify
from amplifier_module_context_persistent.view.recipients import Recipient
from amplifier_module_context_persistent.window.ephemerals import UnloggedMessages
from amplifier_module_context_persistent.window.request import Room, ViewRequest, ViewResult
from amplifier_module_context_persistent.window.window import Window
from tests.support.checker import assert_valid
from tests.support.counters import count
from tests.support.logs import append_bodies
from tests.support.messages import Message

STAMP = "2026-01-05T09:00:00.000Z"


TEXT = "The order keeps its total until it was acknowledged. " * 8


class Desk:
    """A log with a numbered conversation, and windows on it."""

    def __init__(self, log: Log | None = None, **config: Any) -> None:
        self.log, self.unlogged = log or MemoryLog(), UnloggedMessages()
        self.config = Config.load(config)
        self.serial = itertools.count()
        self.plan_ids = itertools.count()
        self.window = self.new_window()

    def new_window(self, *, store: bool = True) -> Window:
        return Window(self.config, EstimateCounter(), self.unlogged, lambda: f"plan{next(self.plan_ids)}", store=store)

    def add(self, *messages: Message) -> None:
        for message in messages:
            append_bodies(self.log, encode_message(message, message_id=f"m{next(self.serial)}", timestamp=STAMP))

    def talk(self, turns: int, **metadata: Any) -> None:
        question = {"role": "user", "content": f"Question. {TEXT}", "metadata": metadata}
        for _ in range(turns):
            self.add(question, {"role": "assistant", "content": f"Answer. {TEXT}"})

    def entries(self, ordinals: Sequence[int]) -> list[Entry]:
        """What a view knows of these messages of the log."""
        return [classify(at, message, count) for at, message in zip(ordinals, self.log.read(ordinals), strict=True)]

    def build(
        self,
        budget: int,
        window: Window | None = None,
        *,
        provider: str = "somebody",
        model: str = "",
        fixed_tokens: int = 0,
        limits: RequestLimits | None = None,
        **request: Any,
    ) -> ViewResult:
        """Build a view of the log as it is now."""
        self.log.follow()
        asked = ViewRequest(
            budget, room=Room(fixed_tokens, limits=limits), reader=Recipient.of(provider, model), **request
        )
        return (window or self.window).build(self.log, asked)

    def ask(self, budget: int, window: Window | None = None, **request: Any) -> ViewResult:
        """Build a view of the log as it is now; a valid one."""
        built = self.build(budget, window, **request)
        if built.view is not None:
            assert_valid(built.view, budget_tokens=budget, count=count)
        return built

    def store(self, window: Window | None = None) -> None:
        append_bodies(self.log, (window or self.window).plan_record(self.log))
