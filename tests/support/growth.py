"""How the time that some work takes grows with its text."""

import time
from collections.abc import Callable


def assert_grows_with_the_text(work: Callable[[str], object], text: str) -> None:
    """Four times the text takes about four times the time, not sixteen times."""

    def seconds(of: str) -> float:
        begin = time.process_time()
        work(of)
        return time.process_time() - begin

    assert min(seconds(text) for _ in range(2)) < 10 * max(0.05, *(seconds(text[: len(text) // 4]) for _ in range(2)))
