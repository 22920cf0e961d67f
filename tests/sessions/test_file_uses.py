"""Which files were touched, as calls and patches say: an independent reading of generated sessions says the same."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from amplifier_module_context_persistent.sessions import files
from amplifier_module_context_persistent.sessions.file_uses import FileCall, FileUse
from tests.support.commands import refused, run, shows, without_colours
from tests.support.sessions_of_a_home import TERMINAL, log_of, write

pytestmark = pytest.mark.usefixtures("project")

PATCH = """*** Begin Patch
*** Update File: src/total.py
@@
-a
+b
*** Add File: src/new.py
+x
*** Delete File: src/old.py
*** End Patch"""


def called(*calls: tuple[str, dict[str, Any], str], said: str = "Go.") -> list[dict[str, Any]]:
    """A turn with calls and their results."""
    given = [{"id": f"{said}{n}", "tool": tool, "arguments": arguments} for n, (tool, arguments, _) in enumerate(calls)]
    results = [
        {"role": "tool", "tool_call_id": f"{said}{n}", "content": result} for n, (_, _, result) in enumerate(calls)
    ]
    return [{"role": "user", "content": said}, {"role": "assistant", "content": "", "tool_calls": given}, *results]


def write_sessions() -> None:
    first = called(
        ("read_file", {"path": "src/total.py"}, "text"),
        ("Edit", {"file_path": "src/total.py", "old_string": "a", "new_string": "b"}, "done"),
        ("Edit", {"file_path": "src/total.py", "old_string": "c", "new_string": "b"}, "Error: no match"),
        ("bash", {"command": "echo x > src/redirected.py"}, "done"),
    )
    second = called(
        ("apply_patch", {"input": PATCH}, "done"),
        ("shell", {"command": ["apply_patch", PATCH.replace("new.py", "newer.py")]}, "done"),
        ("Write", {"file_path": "README.md", "content": "x"}, "File created successfully at: README.md"),
        ("write_file", {"path": "docs/README.md", "content": "x"}, "ok"),
        said="Again.",
    )
    write(log_of("main"), [*first, *second])
    write(log_of("main-1a_helper"), called(("read_file", {"path": "src/total.py"}, "text")))
    write(log_of("far", "../other"), called(("view", {"path": "lib/total.py"}, "text")))


def counts(name: str) -> dict[str, dict[str, int]]:
    told = json.loads(run("files", name, "--json").stdout)
    actions = ("read", "changed", "created", "deleted")
    return {one["path"]: {action: one[action] for action in actions if one[action]} for one in told["files"]}


def test_the_files_of_a_session() -> None:
    """With those of its sub-agents; what failed and what a shell redirected does not count, and that is said."""
    write_sessions()
    assert counts("main") == {
        "src/total.py": {"read": 2, "changed": 3},
        "src/new.py": {"created": 1},
        "src/newer.py": {"created": 1},
        "src/old.py": {"deleted": 2},
        "README.md": {"created": 1},
        "docs/README.md": {"changed": 1},
    }
    told = json.loads(run("files", "main", "--json").stdout)["files"]
    (total,) = [one for one in told if one["path"] == "src/total.py"]
    assert total["turns"] == {"main": [1, 2], "main-1a_helper": [1]}
    done = run("files", "main")
    shows(done.stdout, "1, 2; 1a_helper: 1")
    assert "what shell commands did to files is not known" in done.stderr


def test_a_file_was_touched_last_at_the_latest_time() -> None:
    """Sub-agents' calls are counted after those of the session that started them."""
    use = FileUse("a.py", "s1", "")
    for time in ("2026-01-02", "2026-01-03", "2026-01-01", ""):
        use.add("s1", FileCall("a.py", "read", 1, 1, time))
    assert use.last_time == "2026-01-03"


def test_the_sessions_that_touched_a_file() -> None:
    """By its name, the end of its path or its path from here; in the projects that are meant."""
    write_sessions()

    def sessions(*arguments: str, code: int = 0) -> list[tuple[str, str]]:
        told = json.loads(run("files", *arguments, "--json", code=code).stdout)
        return sorted((one["session"], one["path"]) for one in told["files"])

    assert sessions("--all", "total.py") == [("far", "lib/total.py"), ("main", "src/total.py")]
    assert sessions("--all", "./src/total.py") == [("main", "src/total.py")]
    assert sessions("--project", ".", "total.py") == [("main", "src/total.py")]
    assert sessions("--all", "otal.py", code=1) == []
    assert "give --all or a filter, and a PATH" in refused("files")


def test_python_and_sql_say_the_same() -> None:
    write_sessions()
    used = [(use.session, use.path, use.counts["changed"]) for use in files(path="total.py")]
    assert sorted(used) == [("far", "lib/total.py", 0), ("main", "src/total.py", 3)]
    query = "SELECT action, count(*) AS n FROM files GROUP BY action ORDER BY action"
    rows = {row["action"]: row["n"] for row in json.loads(run("sql", query, "--all", "--json").stdout)["rows"]}
    told: Counter[str] = Counter()
    for use in files():
        told.update(use.counts)
    assert rows == dict(told)


def test_in_a_narrow_terminal_no_path_and_no_id_is_folded() -> None:
    """Each path is a line, and below it one for each session, by the beginning of its id; a pipe gets a table."""
    deep = f"packages/{'deeper/' * 9}footer.ts"
    for name in ("5f2c1a2b-1111", "77aa0011-2222"):
        write(log_of(name), called(("read_file", {"path": deep}, "fine"), ("edit_file", {"path": deep}, "fine")))
    shown = without_colours(run("files", "--all", "footer.ts", env=TERMINAL).stdout).splitlines()
    assert shown[0] == deep
    assert sorted(line.split()[0] for line in shown[1:3]) == ["5f2c1a2b", "77aa0011"]
    assert all("read 1  changed 1" in line and len(line) <= 80 for line in shown[1:3])
    (_, *rows) = run("files", "--all", "footer.ts").stdout.split("\n", 1)[1].splitlines()
    assert sorted(row.split()[1] for row in rows) == ["5f2c1a2b-1111", "77aa0011-2222"]
