"""What `benchmarks.scale` makes of what it measured."""

from benchmarks.scale import limits, promised

COMMANDS = ("--help", "list", "show --turn -1", "stats", "list many")


def round_of(*, slowed: float, extra_mb: float) -> dict[str, dict[str, float]]:
    """One round: an empty session, a short one, and a long one whose first view takes so much longer."""
    rows = {"empty": (0.4, 100.0), "1,000": (0.45, 101.0), "1,000,000": (0.4 * slowed, 100.0 + extra_mb)}
    commands = {f"{name} s": 0.1 * at for at, name in enumerate(COMMANDS, 1)}
    return {name: {"warm_s": warm, "warm_mb": peak, **commands} for name, (warm, peak) in rows.items()}


def test_the_ratios_are_those_of_the_longest_log_and_the_median_of_the_rounds() -> None:
    """One disturbed round changes nothing; the 99th percentile is that of all rounds together."""
    rounds = [round_of(slowed=by, extra_mb=30) for by in (1.2, 1.2, 9.0)]
    quick, slow = [100.0] * 300, [100.0] * 290 + [1000.0] * 10
    turns = [{"append": [quick, slow], "request": [[10.0] * 20, [15.0] * 20]}] * 2
    found = promised(rounds, turns)
    assert round(found["first view of 1,000,000 / (1.5 x none + 50 ms)"][0], 3) == round(0.48 / 0.65, 3)
    assert found["memory of the first view of 1,000,000, MB over none"] == (30, 45)
    assert found["append, 1,000,000 / 1,000"] == (1, 1.1)
    assert found["its 99th percentile"] == (10, 1.5)
    assert round(found["first line of list many, s after that of --help"][0], 3) == 0.4
    assert found["request, 1,000,000 / 1,000"] == (1.5, 1.3)
    assert round(found["first line of stats, s after that of --help"][0], 3) == 0.3
    said = {line.rsplit(maxsplit=1)[-1] for line in limits(found).splitlines()[1:]}
    assert said == {"met", "MISSED"}
    (line,) = (line for line in limits(found).splitlines() if line.startswith("request"))
    assert line.split()[-3:] == ["1.50", "1.30", "MISSED"]
