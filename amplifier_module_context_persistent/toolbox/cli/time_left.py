"""The column of a progress bar that says how much time is left."""

from __future__ import annotations

from rich.progress import ProgressColumn, Task
from rich.text import Text

from .terminal import duration


class TimeLeftColumn(ProgressColumn):
    """The time that is left, if the rest goes as fast as what was done; nothing while nothing was done."""

    def render(self, task: Task) -> Text:
        """Say it, in two units at most."""
        if not task.total or not task.completed or not task.elapsed or task.finished:
            return Text("")
        left_s = task.elapsed * (task.total - task.completed) / task.completed
        return Text(f"{duration(max(1.0, left_s))} left", style="dim")
