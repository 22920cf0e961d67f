"""The errors of a request whose view cannot be made, as a host expects them: amplifier-core's error, and one like it.

This module is imported only when such an error is raised. So an agent that mounts nothing imports no `amplifier_core`,
whose import takes two thirds as long as all else.
"""

from __future__ import annotations

from amplifier_core.llm_errors import ContextLengthError

__all__ = ["ContextLengthError", "NotRetainedError"]


class NotRetainedError(ContextLengthError, ValueError):  # type: ignore[misc]  # core ships no types
    """A text that the view must contain is in no message that a view can show."""
