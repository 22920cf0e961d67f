"""The names that schemas may have: they are written into statements."""

import pytest

from amplifier_module_context_persistent.log.database_location import check_schema_name
from amplifier_module_context_persistent.log.postgres.schema import create_schema


@pytest.mark.parametrize("name", ["a", "team_1", "_x", "a" * 63])
def test_plain_names_are_allowed(name: str) -> None:
    """Lower-case letters, digits and `_`."""
    assert check_schema_name(name) == name


@pytest.mark.parametrize("name", ["", "1a", "A", "a-b", 'a"b', "a;drop table x", "a" * 64, "ä", "a.b"])
def test_other_names_never_reach_a_statement(name: str) -> None:
    """They are refused before anything is sent."""
    with pytest.raises(ValueError, match="lower-case"):
        check_schema_name(name)
    with pytest.raises(ValueError, match="lower-case"):
        create_schema(None, name)  # type: ignore[arg-type]
