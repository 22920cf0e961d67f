"""What is seen of logs with something of everything, with a checkpoint beside them and without."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from click.testing import CliRunner

from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from tests.support.busy_logs import steps
from tests.support.logs import sealed

T = TypeVar("T")


def seen_both_ways(directory: Path, look: Callable[[Path], T]) -> Iterator[tuple[T, T, bool]]:
    """Look at 20 logs, half of which went on after their checkpoint: with it, without it, and whether there was one."""
    for seed in range(20):
        path, rng = directory / f"{seed}.jsonl", random.Random(seed)
        content = sealed([one for step in steps(25, rng) for one in step])
        path.write_bytes(b"".join(content[:-5]))
        path.chmod(0o600)
        made = CliRunner().invoke(main, ["checkpoint", str(path), "--tokenizer", "estimate"])
        with path.open("ab") as file:
            file.write(b"".join(content[-5:] if seed % 2 else []))
        beside, had_one = look(path), made.exit_code == 0
        if had_one:
            path.with_name(f"{path.name}{SUFFIX}").unlink()
        yield beside, look(path), had_one
