"""The types of what `tests/conftest.py` gives to tests that start real sessions."""

from collections.abc import Awaitable, Callable
from typing import Any

Events = list[tuple[str, dict[str, Any]]]


StartSession = Callable[..., Awaitable[Any]]
