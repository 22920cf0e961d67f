"""The agent of `agent_framework_kills`, whose framework saves after each model call."""

from __future__ import annotations

from functools import partial

from tests.support import agent_framework_kills

run = partial(agent_framework_kills.run, saves_each_call=True)
stored = agent_framework_kills.stored
