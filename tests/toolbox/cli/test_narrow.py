"""Terminals of 60 and 80 columns: texts are cut and columns left out, but no number is folded or cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.cli.short_ids import shortest_ids
from amplifier_module_context_persistent.toolbox.cli.tables import DROPPED, fitted
from tests.support.commands import run, without_colours
from tests.support.sessions_of_a_home import TERMINAL, log_of, write
from tests.support.sweeps import proof

MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a-project-with-quite-a-long-name").mkdir()
    monkeypatch.chdir(tmp_path / "a-project-with-quite-a-long-name")
    usage = {"input_tokens": 987_654, "output_tokens": 3_000, "cache_read_tokens": 900_000}
    call = {"id": "c", "tool": "read_a_file_of_the_project", "arguments": {"path": "src/a.py"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Why is the total wrong? " * 9},
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"model": MODEL, "usage": usage}},
        {"role": "tool", "tool_call_id": "c", "content": "Error: no"},
    ]
    for session_id in ("5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "77777777-aaaa-4bbb-8ccc-0123456789ab"):
        write(log_of(session_id), messages)
        write(log_of(f"{session_id}-0a1b2c3d4e5f6a7b_explorer"), messages)
    return tmp_path


@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=proof)])
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "--long"),
        ("stats", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab"),
        ("stats", "--all"),
        *(("stats", "--all", "--by", by) for by in ("session", "project", "model", "tool", "day")),
        ("show", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "--outline"),
        ("search", "total", "-l"),
        ("du", "--all"),
        ("compare", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "--tokenizer", "estimate"),
    ],
    ids=" ".join,
)
def test_no_number_is_folded(command: tuple[str, ...], columns: int) -> None:
    """Lines are no wider than the terminal; the rows of a table are as many as in a wide one."""
    shown = {
        width: without_colours(run(*command, env={**TERMINAL, "COLUMNS": str(width)}).stdout).splitlines()
        for width in (columns, 300)
    }
    assert max(map(len, shown[columns])) <= columns
    numbers = [
        {word for line in lines for word in line.split() if word[0] in "~$" or word[-1] == "%"}
        for lines in shown.values()
    ]
    assert numbers[0] <= numbers[1]


def test_columns_go_in_the_stated_order() -> None:
    """First texts are cut, then the columns go that say least; what things cost stays."""
    heads = ["session", *reversed(DROPPED), "cost"]
    row = ["5f2c3a10-aaaa-4bbb", *["123,456"] * len(DROPPED), "$1,234.56"]
    for width in (400, 200, 100, 60, 40):
        kept, ((*cells,),) = fitted(heads, [row], width)
        assert [name for name in heads if name in kept] == kept
        gone = set(DROPPED) - set(kept)
        assert gone == set(DROPPED[: len(gone)])
        assert cells[-1] == "$1,234.56"
        assert all(cell == "123,456" for cell in cells[1:-1])


@pytest.mark.parametrize("columns", [50, 60, 64, 80])
def test_each_policy_is_named_beside_whole_figures(columns: int) -> None:
    """A comparison lacks columns in a narrow terminal, but neither the policies nor what their tokens are billed as."""
    asked = ("compare", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "--tokenizer", "estimate", "--price-input", "300")
    shown = [
        without_colours(run(*asked, env={**TERMINAL, "COLUMNS": str(width)}).stdout).splitlines()
        for width in (columns, 300)
    ]
    for policy in ("none", "sliding", "default"):
        (narrow,), (wide,) = ([line.split() for line in lines if line.split()[:1] == [policy]] for lines in shown)
        assert set(narrow) <= set(wide)
        assert narrow[-1] == wide[-1]
        assert wide[3] in narrow  # the billed tokens


@pytest.mark.parametrize("columns", [50, 64, 300])
def test_a_comparison_explains_the_columns_that_it_shows(columns: int) -> None:
    asked = ("compare", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "--tokenizer", "estimate")
    shown = without_colours(run(*asked, env={**TERMINAL, "COLUMNS": str(columns)}).stdout)
    table, _, legend = shown.partition("none ")
    for head, meaning in {"breaks": "cache breaks: ", "full": "full bill: ", "left": "reasoning left out: "}.items():
        assert (head in table.split()) == (meaning in legend)


def test_texts_that_begin_alike_are_cut_where_they_differ() -> None:
    """Models whose beginnings are the same in the middle; others at the end, and paths in front."""

    def cut(head: str, *texts: str) -> list[str]:
        return [text for text, _ in fitted([head, "cost"], [[text, "$1.00"] for text in texts], 21)[1]]

    alike = cut("model", "claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929", "gpt-5")
    assert alike == ["claude...50514", "claude...50929", "gpt-5"]
    assert cut("model", "claude-sonnet-4-5-20250929", "gpt-5") == ["claude-sonn...", "gpt-5"]
    assert cut("file", "a/long/way/to/one.py", "a/long/way/to/two.py") == ["...y/to/one.py", "...y/to/two.py"]


def test_a_sub_agent_has_a_short_id_that_names_it() -> None:
    """The list shows the beginning of its parent's id and its own part; both find it."""
    shown = without_colours(run("list", env={**TERMINAL, "COLUMNS": "120"}).stdout)
    assert "5f2c3a10_explorer" in shown
    assert (
        run("show", "5f2c3a10_explorer").stdout
        == run("show", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab-0a1b2c3d4e5f6a7b_explorer").stdout
    )


def test_the_model_has_a_column_where_there_is_room() -> None:
    wide, narrow = (without_colours(run("list", env={**TERMINAL, "COLUMNS": width}).stdout) for width in ("120", "80"))
    assert "MODEL" in wide.splitlines()[0]
    assert "claude-sonnet-4-5" in wide
    assert "MODEL" not in narrow


def test_a_first_line_is_cut_in_a_pipe_too_and_shows_no_key(tmp_path: Path) -> None:
    """JSON has it whole, but for the key, as elsewhere."""
    key = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 7
    write(log_of("pasted"), [{"role": "user", "content": f"Use {key} for it. " + "word " * 90}])
    for command in (("list",), ("list", "--json"), ("search", "word", "-l"), ("search", "word", "-l", "--json")):
        assert key not in run(*command).stdout
    assert max(len(line) for line in run("list").stdout.splitlines() if line.startswith("     ")) <= 120
    assert "word word word" in run("list", "--json").stdout


def test_an_id_is_shortened_only_if_it_does_not_look_whole_then() -> None:
    """The beginning of a UUID or a hash is known for a beginning; that of `quote-123` is not."""
    whole = [
        "quote-123",
        "quote-1234",
        "0123456789",
        "my-session-about-the-quotes",
        "quote-123-0a1b2c3d4e5f6a7b_explorer",
    ]
    uuid = "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab"
    assert shortest_ids([*whole, uuid]) == {**{name: name for name in whole}, uuid: "5f2c3a10"}


@pytest.mark.parametrize("columns", [40, 60])
def test_an_outline_leaves_room_for_first_lines(columns: int) -> None:
    """Columns go before the words of a turn do."""
    shown = run("show", "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab", "--outline", env={**TERMINAL, "COLUMNS": str(columns)})
    _, row, *_ = without_colours(shown.stdout).splitlines()
    assert "Why is the total wrong" in row
    assert len(row) <= columns


def test_facts_of_a_file_are_indented_on_each_line() -> None:
    """A line is never broken within a fact that fits in one; one turn is a turn."""
    read = {"id": "c", "tool": "read_file", "arguments": {"path": "src/a/file/with/quite/a/long/path.py"}}
    turn: list[dict[str, Any]] = [
        {"role": "user", "content": "Go", "metadata": {"timestamp": "2026-11-01T10:00:00Z"}},
        {"role": "assistant", "content": "", "tool_calls": [read]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    write(log_of("reads"), turn)
    for width in ("60", "26"):
        path, *facts = without_colours(run("files", "reads", env={**TERMINAL, "COLUMNS": width}).stdout).splitlines()
        assert path.endswith("path.py")
        assert all(fact.startswith("     ") and len(fact) <= int(width) for fact in facts)
        assert "in turn 1" in " ".join(facts)
