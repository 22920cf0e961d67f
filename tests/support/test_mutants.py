"""The mutants of the mutation test: each is another module that can be compiled, and a sample stays what it is."""

import ast

from tests.support.mutants import mutants_of, sample_of

SOURCE = '''
"""A module."""
import os

LIMIT: int = 5


class Box:
    """Holds."""

    def put(self, value: int, *, deep: bool = False) -> bool:
        """Put."""
        if not value and value <= LIMIT + 1:
            return True
        self.count = list(zip(value, value, strict=True))
        return value is None


def name() -> bytes | None:
    return None
'''


def test_each_mutant_is_the_module_changed_in_one_place() -> None:
    """Texts, imports and annotations stay; the module itself is not touched."""
    mutants = mutants_of("box", SOURCE)
    before = ast.unparse(ast.parse(SOURCE))
    made = [ast.unparse(mutant.make()) for mutant in mutants]
    assert before not in made
    for text in made:
        compile(text, "box", "exec")
        lines = zip(text.splitlines(), before.splitlines(), strict=True)
        assert sum(one != other for one, other in lines) == 1
    assert {mutant.what for mutant in mutants if mutant.line == 13} == {
        "the condition is turned", "And becomes Or", "not is left out", "LtE becomes Lt", "Add becomes Sub",
        "1 becomes 2",
    }  # fmt: skip
    assert [mutant.what for mutant in mutants if mutant.line == 15] == ["the statement is left out"]
    assert len({mutant.name for mutant in mutants}) == len(mutants)


def test_a_sample_stays_nearly_the_same_when_a_module_changes() -> None:
    """Lines that are put in before move nothing; a new mutant takes the place of at most one."""
    sample = sample_of(mutants_of("box", SOURCE), 8, 1)
    assert len(sample) == 8
    moved = sample_of(mutants_of("box", SOURCE.replace("import os", "import os\n\nimport sys")), 8, 1)
    assert [mutant.name for mutant in moved] == [mutant.name for mutant in sample]
    more = sample_of(mutants_of("box", SOURCE.replace("LIMIT: int = 5", "LIMIT: int = 5\nMOST = 7")), 8, 1)
    assert len({mutant.name for mutant in more} - {mutant.name for mutant in sample}) <= 2
    assert [mutant.name for mutant in sample_of(mutants_of("box", SOURCE), 8, 2)] != [mutant.name for mutant in sample]
