"""The files that a notice names."""

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.file_names import MOST_FILES, files_text

HOME = "/home/someone/projects/shop"


def test_it_names_the_newest_and_says_how_many_more_there_are() -> None:
    """Of each kind."""
    paths = [f"{n}.py" for n in range(MOST_FILES + 3)]
    assert (
        files_text(paths, ["b.md"])
        == f" Files changed in them: {', '.join(paths[3:])} and 3 more. Files read in them: b.md."
    )
    assert files_text([], []) == ""


def test_a_directory_that_they_share_is_named_once() -> None:
    """What is not below it keeps its whole path."""
    paths = [f"{HOME}/src/{name}.py" for name in ("cart", "order", "price", "stock")]
    assert files_text(paths[:3], [paths[3], "/etc/hosts"]) == (
        " Files changed in them: cart.py, order.py, price.py. Files read in them: stock.py, /etc/hosts."
        f" Relative paths are below {HOME}/src."
    )


def test_no_directory_is_named_where_relative_paths_may_be_below_another_one() -> None:
    """The session may have worked in any."""
    paths = [f"{HOME}/src/{n}.py" for n in range(4)]
    assert (
        files_text(paths, ["docs/a.md"])
        == f" Files changed in them: {', '.join(paths)}. Files read in them: docs/a.md."
    )


def test_a_file_that_is_named_in_two_ways_is_told_once() -> None:
    """By its absolute path; but a name alone may be that of another file."""
    path = f"{HOME}/src/cart.py"
    assert files_text(["src/cart.py", path], []) == f" Files changed in them: {path}."
    assert files_text(["src/cart.py"], [path]) == " Files changed in them: src/cart.py."
    assert files_text([path], ["src/cart.py"]) == f" Files changed in them: {path}."
    assert files_text([path], ["cart.py"]) == f" Files changed in them: {path}. Files read in them: cart.py."


parts = st.lists(st.sampled_from(("home", "shop", "src", "a", "b")), min_size=1, max_size=5).map("/".join)
files = st.lists(st.builds("{}{}.py".format, st.sampled_from(("/", "/", "/", "")), parts), max_size=20)


@given(files, files)
def test_every_name_stands_for_a_file_and_no_file_is_told_twice(changed: list[str], read: list[str]) -> None:
    """Put together again with the directory, whatever the paths are; and those that are told are the newest."""
    text = files_text(changed, read)
    said, _, directory = text.partition(" Relative paths are below ")
    told: list[str] = []
    for sentence in said.split(" Files ")[1:]:
        names = sentence.partition(": ")[2].removesuffix(".").partition(" and ")[0]
        told += names.split(", ")
    if directory:
        told = [name if name.startswith("/") else f"{directory.removesuffix('.')}/{name}" for name in told]
        assert all(path.startswith("/") for path in told)
    assert len(told) == len(set(told))
    assert set(told) <= {*changed, *read}
    if changed:
        assert any(path == changed[-1] or path.endswith(f"/{changed[-1]}") for path in told)
