"""The bundle at the root and the behavior: parsed as the host parses them, and mounted in a real session."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent import PersistentContextManager
from tests.support.places import ROOT
from tests.support.real_sessions import StartSession

FILES = ["bundle.md", "behaviors/context-persistent.yaml"]
OTHER_BUNDLE = {"max_tokens": 300_000, "compact_threshold": 0.8, "auto_compact": True}
"""What Microsoft's bundles set for the context module; composition merges it with ours."""


def read(name: str) -> dict[str, Any]:
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".md"):
        before, front_matter, body = text.split("---\n")
        assert before == ""
        assert body.strip() == "", "a bundle's text would replace the instructions of the bundles before it"
        text = front_matter
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_bundle_says_who_it_is_and_sets_the_context_alone(name: str) -> None:
    """Everything else of a session is left to the bundles that it is composed with."""
    bundle = read(name)
    assert set(bundle) == {"bundle", "session"}
    assert set(bundle["bundle"]) == {"name", "version", "description"}
    assert bundle["bundle"]["version"] == package.__version__
    assert set(bundle["session"]) == {"context"}
    assert set(bundle["session"]["context"]) == {"module", "source", "config"}


@pytest.mark.parametrize("name", FILES)
def test_its_source_is_this_repository(name: str) -> None:
    """Relative to the file that names it; a bare dot is no source to the host."""
    source = read(name)["session"]["context"]["source"]
    assert source.startswith(("./", "../"))
    assert ((ROOT / name).parent / source).resolve() == ROOT.resolve()
    assert (ROOT / "pyproject.toml").exists()


@pytest.mark.parametrize("name", FILES)
def test_its_module_is_an_entry_point(name: str) -> None:
    """The one that this package installs."""
    module = read(name)["session"]["context"]["module"]
    (entry,) = entry_points(group="amplifier.modules", name=module)
    assert entry.load() is package.mount


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("other", [{}, OTHER_BUNDLE], ids=["alone", "composed"])
async def test_what_it_says_is_mounted(
    name: str, other: dict[str, Any], start_session: StartSession, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In a real session, with the options of another bundle or without, and no warning."""
    context = read(name)["session"]["context"]
    plan = {"module": context["module"], "config": {**other, **(context["config"] or {})}}
    session = await start_session(plan, session_id="adopted")
    manager = session.coordinator.get("context")
    assert isinstance(manager, PersistentContextManager)
    await manager.add_message({"role": "user", "content": "hello"})
    assert manager.config.max_tokens == other.get("max_tokens", 200_000)
    assert str(manager.log_path).startswith(str(home))
    assert [record.getMessage() for record in caplog.records if "context_persistent" in record.name] == []
