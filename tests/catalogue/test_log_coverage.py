"""What a catalogue has of a log holds only for the file that was read."""

import os
from pathlib import Path

from amplifier_module_context_persistent.catalogue.log_coverage import Stamp, is_same_file


def test_a_file_is_the_same_until_another_takes_its_place(tmp_path: Path) -> None:
    """One that grew is the same; one that is gone, or that was written beside it and renamed, is not."""
    log, other = tmp_path / "log", tmp_path / "other"
    log.write_text("one")
    stamp = Stamp.of(os.stat(log))
    log.write_text("one and more")
    assert is_same_file(log, stamp)
    other.write_text("one")
    assert not is_same_file(other, stamp)
    os.replace(other, log)
    assert not is_same_file(log, stamp)
    log.unlink()
    assert not is_same_file(log, stamp)
