"""Which mutants are tried: a sample of all, with a least number of each room. Needs no other package.

`.ci/run` writes its sample down before anything is installed, so that the quick tests note which of them reach it:

    python3 -m tests.support.mutant_sample --sample 40 --seed 1 --reached DIR
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.support.import_map import PACKAGE
from tests.support.mutants import Mutant, mutants_of, sample_of
from tests.support.places import ROOT

Chosen = tuple[str, Path, Mutant]
"""A module's name, its file, and the mutant."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a sample."""
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, of all modules together")
    parser.add_argument("--each-room", type=int, default=0, help="at least so many of each room")
    parser.add_argument("--seed", default="2027", help="any text")
    parser.add_argument("--module", action="append", default=[], help="only of modules whose name begins so")


def modules(beginnings: Sequence[str] = ()) -> Iterator[tuple[str, Path]]:
    """The modules of the package and their files; only those whose name begins so, if beginnings are given."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if not beginnings or name.startswith(tuple(beginnings)):
            yield name, path


def room_of(module: str) -> str:
    """The room of a module, by which mutants are chosen and counted."""
    return module.rpartition(".")[0].partition(".postgres")[0] or "package"


def chosen(options: argparse.Namespace) -> tuple[list[Chosen], int]:
    """The mutants to try, each with its module and file, in the order of the files; and how many are possible."""
    possible: list[Chosen] = []
    of_room = defaultdict[str, list[Mutant]](list)
    for module, path in modules(options.module):
        mutants = mutants_of(module, path.read_text(encoding="utf-8"))
        possible += ((module, path, mutant) for mutant in mutants)
        of_room[room_of(module)] += mutants
    sample = sample_of((mutant for *_, mutant in possible), options.sample, options.seed)
    for mutants in of_room.values():
        sample += sample_of(mutants, options.each_room, options.seed)
    names = {mutant.name for mutant in sample}
    return [one for one in possible if one[2].name in names], len(possible)


def write_sample(directory: Path, sample: Iterable[Chosen]) -> None:
    """Write into a directory which places a run of the tests with `--note-reached` shall note."""
    spans = defaultdict[str, dict[str, tuple[int, int]]](dict)
    for _, path, mutant in sample:
        spans[path.relative_to(ROOT).as_posix()][mutant.name] = (mutant.line, mutant.last_line)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "sample.json").write_text(json.dumps(spans), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--reached", type=Path, required=True, metavar="DIR", help="where to write the sample")
    options = parser.parse_args()
    write_sample(options.reached, chosen(options)[0])


if __name__ == "__main__":
    main()
