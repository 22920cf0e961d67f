"""A person's own forms: expressions in a file, and the contents of environment variables."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.erasures.erasure_list import erasures
from amplifier_module_context_persistent.erasures.erasure_record import TEXT
from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.messages.secrets.own_forms import OwnFormsError, own_forms
from amplifier_module_context_persistent.messages.secrets.redact import redact_text
from tests.support.commands import run, shows
from tests.support.pages import read_page
from tests.support.sessions_of_a_home import write

VALUE = 'plain "words" of mine'
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": f"Order ACME-4711 with {VALUE}, and keep ACME-x."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "tool": "run", "arguments": {"command": f"echo {json.dumps(VALUE)}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"out": VALUE, "order": "ACME-4711"})},
]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with an order's number and a value, a file of expressions, and the value in a variable."""
    (tmp_path / "forms.txt").write_text("# orders\n\nACME-[0-9]+\n")
    monkeypatch.setenv("MINE", VALUE)
    return write(tmp_path / "log.jsonl", SAID)


def holds(text: str) -> bool:
    return "ACME-4711" in text or VALUE in text or json.dumps(VALUE)[1:-1] in text


@pytest.mark.parametrize("into", ["markdown", "jsonl", "anthropic", "otlp"])
def test_exports_replace_them(session: Path, tmp_path: Path, into: str) -> None:
    """As they are, and as JSON writes them; what only looks like one stays."""
    done = run("export", session, "--format", into, "--redact-file", tmp_path / "forms.txt", "--redact-values", "MINE")
    assert not holds(done.stdout)
    assert "ACME-x" in done.stdout
    shows(done.stderr, "form of one's own", "value of one's own")
    assert holds(run("export", session, "--format", into).stdout)


def test_reports_replace_them(session: Path, tmp_path: Path) -> None:
    """In what is said and in the title; the variables of the environment name both for all commands."""
    env = {
        "CONTEXT_PERSISTENT_REDACT_FILE": str(tmp_path / "forms.txt"),
        "CONTEXT_PERSISTENT_REDACT_VALUES": "MINE",
    }
    run("report", session, "-o", tmp_path / "s.html", env=env)
    page = read_page(tmp_path / "s.html")
    assert not holds(page.text + page.shell + json.dumps(page.head))
    assert "ACME-x" in page.text


def test_a_purge_replaces_them_in_the_log(session: Path, tmp_path: Path) -> None:
    """With --secrets, together with all that redaction knows; the calls keep their results."""
    forms = ("--redact-file", tmp_path / "forms.txt", "--redact-values", "MINE")
    run("purge", session, "--secrets", *forms, "--dry-run")
    assert holds(session.read_text("utf-8"))
    run("purge", session, "--secrets", *forms, "--yes")
    text = session.read_text("utf-8")
    assert not holds(text)
    assert "ACME-x" in text
    kept = [record for line in session.read_bytes().splitlines() if "_record" not in (record := decode(line))]
    assert [message["role"] for message in kept] == ["user", "assistant", "tool"]


def test_a_purge_leaves_a_rule_with_which_imports_replace_them_again(session: Path) -> None:
    run("purge", session, "--secrets", "--redact-values", "MINE", "--yes")
    (erasure,) = (erasure for erasure in erasures(str(session)) if erasure.what == TEXT)
    assert not holds(erasure.rule.replace(f"again {VALUE}, and {json.dumps(VALUE)}"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--redact-file", "nowhere.txt"], "nowhere.txt"),
        (["--redact-file", "bad.txt"], "line 2: this is no regular expression"),
        (["--redact-file", "empty.txt"], "matches an empty text"),
        (["--redact-values", "NOT_SET_AT_ALL"], "NOT_SET_AT_ALL is not set"),
        (["--redact-values", "SHORT"], "fewer than 6 characters"),
    ],
)
def test_what_cannot_be_used_is_refused(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    """With what is wrong and where; nothing is exported, and no value is printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHORT", "abc")
    Path("bad.txt").write_text("ok\n(oops\n")
    Path("empty.txt").write_text("a*\n")
    assert said in run("export", session, "-o", "out.md", *options, code=2).stderr
    assert not Path("out.md").exists()


def test_a_longer_value_goes_before_one_that_it_holds() -> None:
    """And a name that is not set is an error from Python too."""
    own = own_forms(names=["A", "B"], environment={"A": "secret-of-a", "B": "secret-of-a-and-b"})
    assert redact_text("x secret-of-a-and-b y secret-of-a z", own=own) == "x [REDACTED] y [REDACTED] z"
    with pytest.raises(OwnFormsError):
        own_forms(names=["C"], environment={})
