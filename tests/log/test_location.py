"""Locations of logs in PostgreSQL: what they name, and that a password is never shown."""

import pytest

from amplifier_module_context_persistent.log.location import is_postgres, location_of, parse_location, split_location

SECRET = "hunter" + "2"


@pytest.mark.parametrize(
    ("given", "conninfo", "name", "schema", "prepares"),
    [
        ("postgresql://h/db#p/s", "postgresql://h/db", "p/s", "context_persistent", True),
        ("postgres://u@h:5433/db?schema=team_a&prepare=off#s", "postgres://u@h:5433/db", "s", "team_a", False),
        ("postgresql:///db?host=/run/pg&sslmode=disable#s", "postgresql:///db?host=/run/pg&sslmode=disable", "s",
         "context_persistent", True),
        ("postgresql://u@a:1,b:2,[::1]:3/db?target_session_attrs=any&options=-c%20a=1+2&schema=s_1#n",
         "postgresql://u@a:1,b:2,[::1]:3/db?target_session_attrs=any&options=-c%20a=1+2", "n", "s_1", True),
        (r"service=logs options='-c a=\'x y\' #' schema='b'#p/s", r"service=logs options='-c a=\'x y\' #'", "p/s", "b",
         True),
        ("service=logs schema=b #p/s", "service=logs", "p/s", "b", True),
    ],
)  # fmt: skip
def test_a_location_is_taken_apart(given: str, conninfo: str, name: str, schema: str, prepares: bool) -> None:
    """Our own parameters and the log's name do not reach the driver."""
    found = parse_location(given)
    assert (found.conninfo, found.name, found.schema, found.prepares) == (conninfo, name, schema, prepares)
    storage, named = split_location(given)
    assert named == name
    assert parse_location(location_of(storage, name)) == found


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://u:{SECRET}@h/db#s",
        f"postgresql://u@h/db?password={SECRET}&sslpassword={SECRET}#s",
        f"postgresql://u:{SECRET}@[::1]:5432/db#s",
        f"service=logs password={SECRET} #s",
        f"service=logs password='x {SECRET}' sslpassword = {SECRET}#s",
        f"postgresql://u:{SECRET}@a:1,b:2/db#s",
        f"postgresql://u@h/db?pass%77ord={SECRET}#s",
    ],
)
def test_a_password_is_not_shown(given: str) -> None:
    """It reaches the driver, and nothing that is printed."""
    found = parse_location(given)
    assert SECRET in found.conninfo
    assert SECRET not in found.shown
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://u:{SECRET}@h:port/db",
        f"mysql://u:{SECRET}@h/db",
        f"postgresql://u:pa/{SECRET}@h/db",
        f"postgresql://u:1/{SECRET}@h/db",
        f"service=logs password='{SECRET}",
        f"service=logs {SECRET}",
        f"postgresql://u:{SECRET}@h/db?schema=a;drop",
        f"postgresql://u:{SECRET}@h/db?prepare=maybe",
    ],
)
def test_a_wrong_location_is_refused_without_its_password(given: str) -> None:
    """The error says what is allowed."""
    with pytest.raises(ValueError, match=r"storage|schema") as refused:
        parse_location(given)
    assert SECRET not in str(refused.value)


def test_a_path_is_no_location_in_a_database() -> None:
    """Whatever is not one of the forms is a file."""
    assert not is_postgres("/home/u/postgresql")
    assert is_postgres("postgresql://h/db")
    assert is_postgres("service=x")
