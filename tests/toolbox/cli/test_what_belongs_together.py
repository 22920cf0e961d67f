"""Arguments that exclude or need each other: a command says which, does nothing, and leaves no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import refused
from tests.support.sessions_of_a_home import log_of, write

NEEDS_ONE = "name one SESSION: a path, an id or a name, the beginning of one, or --last"
NO_TEXT_OPTIONS = "--best takes a question: give no option for texts (-i, -F, -w, -C, -l, -c, --hidden)"
NO_QUESTION = "--json cannot ask; add --yes or --dry-run"
REFUSED = {
    "backup d --restore --check": "give one of --restore, --check and --erase",
    "backup d --restore --erase": "give one of --restore, --check and --erase",
    "backup d --check --erase": "give one of --restore, --check and --erase",
    "backup d --again": "--again is for --restore",
    "backup d --check --again": "--again is for --restore",
    "compact one": "no view was requested, or `receipts` is off: say for which budget (`--budget`)",
    "compare": NEEDS_ONE,
    "delete --json one": NO_QUESTION,
    "diff one": "one: it was not forked from another session; name the OTHER one",
    "du one --all": "--all means the sessions of all projects; give it without SESSION or --last",
    "export": f"{NEEDS_ONE}; or give --all or a filter, and -o DIRECTORY, for many sessions",
    "export --all": "many sessions go whole into a directory; name it with -o",
    "export --tag x": "many sessions go whole into a directory; name it with -o",
    "export one --json": "--json is about a file; name one with -o",
    "files": f"{NEEDS_ONE}; or give --all or a filter, and a PATH, for the sessions that touched it",
    "fork one --at 99": "one: there is no turn 99: the session has the turns 1 to 2",
    "fork one --at nothing": "one: there is no message with the id 'nothing'; give a turn's number, or the id",
    "hide one 99": "one: there is no turn 99: the session has the turns 1 to 2",
    "import": "name a SOURCE, or an agent with --from or --watch",
    "import - x": "give - (the standard input) alone",
    "import x y --session s": "--session and -o are for one file",
    "import x y -o d": "--session and -o are for one file",
    "list --storage postgresql://h/d .": "give either --storage or a directory",
    "prune --project p .": "give only one of --all, --project, --storage and DIRECTORY",
    "prune --all --everything .": "give only one of --all, --project, --storage and DIRECTORY",
    "purge one": "choose exactly one of --before, --cleared, --everything, --redact and --secrets, or --torn",
    "purge one --cleared --everything": "choose exactly one of --before, --cleared, --everything, --redact and --sec",
    "purge --all --before 3": f"--before is about one session: {NEEDS_ONE}",
    "purge one --redact (?:)": "--redact matches the empty text, so it would match everywhere; make it stricter",
    "purge one --redact x*": "--redact matches the empty text, so it would match everywhere; make it stricter",
    "purge one --cleared --json": NO_QUESTION,
    "repair": NEEDS_ONE,
    "rewind one 1 --json": NO_QUESTION,
    "search --hidden --tool x y": "give one of --hidden and --tool",
    "search --explain x": "--explain is of --best N",
    "search --best 3 -i x": NO_TEXT_OPTIONS,
    "search --best 3 -F x": NO_TEXT_OPTIONS,
    "search --best 3 -w x": NO_TEXT_OPTIONS,
    "search --best 3 -C 2 x": NO_TEXT_OPTIONS,
    "search --best 3 -l x": NO_TEXT_OPTIONS,
    "search --best 3 -c x": NO_TEXT_OPTIONS,
    "search --best 3 --hidden x": NO_TEXT_OPTIONS,
    "show one --turn 99": "there is no turn 99: the session has 2",
    "sql --json --csv select": "give either --json or --csv",
    "stats": f"{NEEDS_ONE}; or give --all, --by or a filter, for many sessions",
    "stats --all --top 3": "--top is about the turns of SESSION, or with --by about its rows: give one of the two",
    "stats --spend-limit 5/day --since 3d": "--spend-limit names its time: give it without --since and --until",
    "stats --spend-limit 5/day --until 3d": "--spend-limit names its time: give it without --since and --until",
    "stats --spend-limit 5/day --by model": "--spend-limit is about the sum of all: give it without --by",
    "stats --by project,project": "--by takes one, or two different ones, as in project,model; `sql` answers the rest",
    "stats --by day,model,tag": "--by takes one, or two different ones, as in project,model; `sql` answers the rest",
    "stats --by model,tool": "requests have a model and calls have a tool: give only one of the two to --by",
    "storage init postgresql://h/d --print-sql --dry-run": "--print-sql prints the statements and does nothing; give",
    "storage init postgresql://h/d --print-sql --json": "--print-sql prints the statements and does nothing; give",
    "tail": NEEDS_ONE,
    "verify": "name at least one SESSION, or give --last, --all or a filter",
    "view one --diff --json": "--diff is for people; compare the views of two --json",
}


@pytest.mark.parametrize("given", REFUSED)
def test_what_cannot_go_together_is_named(given: str, project: Path) -> None:
    log = write(log_of("one"))
    before = log.read_bytes()
    assert REFUSED[given] in refused(*given.split())
    assert log.read_bytes() == before
    assert list(project.joinpath("here").iterdir()) == []
    assert [path.name for path in log.parent.parent.iterdir()] == ["one"]
