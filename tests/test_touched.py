"""Which tests a change can break, and in which order they run."""

import sys
from pathlib import Path

import pytest

from tests import touched
from tests.support.import_map import PACKAGE
from tests.support.places import ROOT
from tests.support.sweeps import proof
from tests.touched import room_of, stages_for


def names(stage: list) -> set[str]:
    return {path.relative_to(ROOT / "tests").as_posix() for path in stage}


@proof
def test_tests_of_a_changed_file_come_first() -> None:
    """Then the others of its room, and those that reach it over other files; each once."""
    near, same_room, others = stages_for([ROOT / PACKAGE / "compaction" / "markers.py"])
    assert "compaction/test_markers.py" in names(near)
    assert "compaction/test_choose.py" in names(same_room) | names(near)
    assert "session/test_view_service.py" in names(others)
    assert not set(near) & set(same_room)
    assert not set(others) & {*near, *same_room}


def test_a_change_of_a_helper_of_tests_reaches_the_tests_that_use_it() -> None:
    near, same_room, _ = stages_for([ROOT / "tests" / "support" / "sweeps.py"])
    assert "support/test_sweeps.py" in names(near)
    assert same_room == []


def test_a_page_reaches_no_test() -> None:
    assert stages_for([ROOT / "README.md"]) == [[], [], []]


def test_a_room_without_tests_of_its_own_is_tested_by_the_one_above() -> None:
    deep = ROOT / PACKAGE / "messages" / "secrets" / "names.py"
    assert room_of(deep) == ROOT / "tests" / "messages"


def test_a_command_that_is_imported_by_its_name_is_reached_by_who_runs_it() -> None:
    """The test of its name comes first, wherever that is."""
    near, same_room, _ = stages_for([ROOT / PACKAGE / "toolbox" / "cli" / "sync.py"])
    assert "toolbox/transfer/test_sync.py" in names(near)
    assert "toolbox/cli/test_main.py" in names(same_room)


def test_what_a_room_gives_away_is_reached_by_who_imports_the_room() -> None:
    """The tests that import it from there come first, as those that import its file."""
    near, _, _ = stages_for([ROOT / PACKAGE / "config" / "option_table.py"])
    assert "docs/test_configuration.py" in names(near)


def test_runs_beside_each_other_end_with_the_first_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that would go on for long is ended, and what the failed one printed is shown."""
    monkeypatch.setattr(touched, "ROOT", tmp_path)
    (tmp_path / "fails.py").write_text("print('what failed'); raise SystemExit(1)")
    (tmp_path / "waits.py").write_text("import time; time.sleep(60)")
    (tmp_path / "passes.py").write_text("")
    monkeypatch.setattr(touched, "_command", lambda paths, *_: [sys.executable, str(paths[0])])
    runs = {name: ([tmp_path / f"{name}.py"], ()) for name in ("fails", "waits", "passes")}
    assert not touched.run_beside(runs)
    assert touched.run_beside({"passes": runs["passes"], "none": ([], ())})
