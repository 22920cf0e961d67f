"""Filters that leave sessions out: `--not-tag`, `--untagged` and `--except`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from amplifier_module_context_persistent.sessions import sessions
from amplifier_module_context_persistent.sessions.filters import FilterError
from tests.support.commands import refused, run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")
ALL = ["five-bare", "four-bare", "one-both", "three-kept", "two-old", "two-old-0a_explorer"]


@pytest.fixture(autouse=True)
def tagged(project: object) -> None:
    """Sessions with two tags, with one of them, with none, and one with a name and a sub-agent."""
    for name in ALL:
        write(log_of(name))
    for name, tags in {"one-both": ["kept", "old"], "two-old": ["OLD"], "three-kept": ["kept"]}.items():
        run("tag", name, *tags)
    run("rename", "four-bare", "The rounding bug")


def listed(*arguments: str) -> list[str]:
    found = json.loads(run("list", "--json", *arguments).stdout)["sessions"]
    return sorted(one["session"] for one in found)


BARE = ["five-bare", "four-bare", "two-old-0a_explorer"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--untagged"], BARE),
        (["--not-tag", "kept"], sorted([*BARE, "two-old"])),
        (["--not-tag", "kept", "--not-tag", "old"], BARE),
        (["--tag", "old", "--not-tag", "Kept"], ["two-old"]),
        (["--except", "two-old"], [one for one in ALL if not one.startswith("two-old")]),
        (["--except", "two"], [one for one in ALL if not one.startswith("two-old")]),
        (
            ["--except", "one", "--except", "the rounding"],
            ["five-bare", "three-kept", "two-old", "two-old-0a_explorer"],
        ),
        (["--except", "two-old-0a_explorer"], [one for one in ALL if one != "two-old-0a_explorer"]),
    ],
    ids=lambda value: " ".join(value) if "--" in value[0] else "",
)
def test_sessions_are_left_out(arguments: Sequence[str], meant: Sequence[str]) -> None:
    assert listed(*arguments) == listed("--all", *arguments) == meant


def test_a_path_is_left_out_in_a_place() -> None:
    place = str(log_of("one-both").parents[1].parent)
    assert len(listed("--in", place, "--except", str(log_of("one-both")))) == len(ALL) - 1
    assert len(listed("--in", place, "--except", "one-both")) == len(ALL) - 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nosuch", "except: "),
        pytest.param("", "'--except': this is empty", marks=proof),
        pytest.param("t", "except: ", marks=proof),
    ],
)
@pytest.mark.parametrize("command", [["list"], ["stats", "--all"], ["prune", "--untagged", "--yes"]], ids=" ".join)
def test_what_is_left_out_has_to_be_there(command: Sequence[str], name: str, why: str) -> None:
    """One that is mistyped, or that several are called, leaves out nothing in silence."""
    assert why in refused(*command, "--except", name)
    assert listed() == ALL


def test_all_of_a_project_but_one_are_deleted() -> None:
    told = json.loads(run("prune", "--project", ".", "--except", "two-old", "--yes", "--json").stdout)
    assert sorted(one["session"] for one in told["deleted"]) == ["five-bare", "four-bare", "one-both", "three-kept"]
    assert listed() == ["two-old", "two-old-0a_explorer"]


def test_they_are_left_out_in_python() -> None:
    def found(**filters: object) -> list[str]:
        return sorted(one.session.id for one in sessions(**filters))  # type: ignore[arg-type]

    assert found(untagged=True) == BARE
    assert found(not_tag=["kept", "old"]) == BARE
    assert found(except_="two-old") == [one for one in ALL if not one.startswith("two-old")]
    with pytest.raises(FilterError, match="none of these sessions"):
        found(except_="nosuch")
