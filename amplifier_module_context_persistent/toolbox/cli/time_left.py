"""The column of a progress bar that shows the remaining time."""

from __future__ import annotations

from rich.progress import ProgressColumn, Task
from rich.text import Text

from .terminal import duration


class TimeLeftColumn(ProgressColumn):
    """The remaining time, if the rest is as fast as the work done; empty while nothing is done."""

    def render(self, task: Task) -> Text:
        """Return the remaining time, in at most two units."""
        if not task.total or not task.completed or not task.elapsed or task.finished:
            return Text("")
        left_s = task.elapsed * (task.total - task.completed) / task.completed
        return Text(f"{duration(max(1.0, left_s))} left", style="dim")
