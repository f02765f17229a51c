"""Simulated experiments with known effects: the verdicts are right at the promised rates.

Seeds are fixed, so a rate is always the same number; the bounds are the promised ones. Tests of the means
are counted over a thousand experiments; whole analyses, with a JSON row per task, over a few dozen.
"""

import numpy as np
import pytest
from scipy import stats

from coevolve_statistics.analysis import analyze
from coevolve_statistics.levels import look_level
from coevolve_statistics.paired import equivalence, paired_t, t_interval, trimmed_p
from coevolve_statistics.sums import mean
from coevolve_statistics.two_way import ByTask, shared_tasks, two_way_interval
from tables import Input, analysis_input, simulated

DEVIATION = 0.025


def differences(count: int, seeds: int, tasks: int, effect: float) -> list[list[float]]:
    random = np.random.default_rng(20261125)
    rows: list[list[float]] = []
    while len(rows) < count:  # in parts, because 1,000 experiments of 500 tasks are 64 MB a field
        control, treated = simulated(random, (250, seeds, tasks), DEVIATION, effect)
        rows += (treated.mean(axis=2) - control.mean(axis=2)).tolist()
    return rows


def rejected(rows: list[list[float]], level: float) -> int:
    return sum((paired_t(row) or 0) < level for row in rows)


def test_a_thousand_nulls_of_eight_seeds_give_35_to_66_rejections() -> None:
    rows = differences(1000, 8, 200, 0)
    assert 35 <= rejected(rows, 0.05) <= 66


@pytest.mark.parametrize("looks", [(2, 3), (3, 8), (5, 8), (8, 16)])
def test_two_looks_reject_five_percent_of_normal_nulls(looks: tuple[int, int]) -> None:
    level, nulls = look_level(0.05, looks), 400_000
    values = np.random.default_rng(20261130).normal(size=(nulls, looks[1]))
    rejected_at = [
        np.abs(stats.ttest_1samp(values[:, :seeds], 0, axis=1).statistic) > stats.t.isf(level / 2, seeds - 1)
        for seeds in looks
    ]
    assert np.mean(rejected_at[0] | rejected_at[1]) == pytest.approx(0.05, abs=0.001)  # 3 standard errors


def test_two_looks_reject_about_five_percent_of_the_nulls_of_long_tables() -> None:
    rows, level = differences(1000, 16, 200, 0), look_level(0.05, [8, 16])
    found = [(paired_t(row[:8]) or 0) < level or (paired_t(row) or 0) < level for row in rows]
    assert 35 <= sum(found) <= 66


@pytest.mark.parametrize("heavy", [False, True])
def test_the_declared_companion_rejects_at_most_five_percent_of_nulls(heavy: bool) -> None:
    random = np.random.default_rng(5)
    rows = random.standard_t(2, (1000, 8)) if heavy else random.normal(0, 1, (1000, 8))
    assert 15 <= sum((trimmed_p(row) or 0) < 0.05 for row in rows.tolist()) <= 66


def test_one_collapse_of_eight_hides_25_points_from_the_mean_and_not_from_the_companion() -> None:
    rows = np.array(differences(250, 8, 200, 0.25))
    rows[:, 3] = -0.6
    assert rejected(rows.tolist(), 0.05) == 0
    assert sum((trimmed_p(row) or 0) < look_level(0.05, [8, 16]) for row in rows.tolist()) == 250


def test_eight_seeds_find_five_points_in_about_80_percent() -> None:
    rows = differences(500, 8, 500, 0.05)
    assert 0.75 <= rejected(rows, 0.05) / 500 <= 0.88  # the design computes .82


def test_eight_seeds_show_equivalence_within_five_points_in_about_84_percent_of_nulls() -> None:
    rows = differences(500, 8, 500, 0)
    assert 0.78 <= sum((equivalence(row, 0.05) or 0) < 0.05 for row in rows) / 500 <= 0.90


def test_a_true_difference_of_the_margin_is_called_equivalent_in_at_most_about_five_percent() -> None:
    rows = differences(500, 8, 500, 0.05)
    assert sum((equivalence(row, 0.05) or 0) < 0.05 for row in rows) / 500 <= 0.07


@pytest.mark.parametrize(
    ("effect", "wrong"),
    [(0.0, ("better", "worse")), (0.05, ("equivalent",)), (-0.05, ("equivalent",))],
)
def test_stopping_at_a_first_look_that_decides_keeps_the_error_of_both_verdicts(
    effect: float, wrong: tuple[str, ...]
) -> None:
    level = look_level(0.05, [8, 16])
    rows = np.random.default_rng(11).normal(effect, 0.04, (4000, 16)).tolist()
    assert sum(_stopped_verdict(row, level) in wrong for row in rows) / 4000 <= 0.058


def _stopped_verdict(differences: list[float], level: float) -> str:
    for seeds in (8, 16):
        found = differences[:seeds]
        if (paired_t(found) or 0) < level:
            return "better" if mean(found) > 0 else "worse"
        if (equivalence(found, 0.05) or 0) < level:
            return "equivalent"
    return "inconclusive"


def drawn_from_a_list(random: np.random.Generator, seeds: int) -> list[ByTask]:
    """Differences without a true one: every seed draws 50 tasks of a list of 90, which is itself drawn.

    Effects of tasks, which stay over the seeds, deviate by .3, and effects of seeds by .02.
    """
    of_task = random.normal(0, 0.3, size=90)
    rows: list[ByTask] = []
    for _ in range(seeds):
        drawn = random.permutation(90)[:50]
        values = of_task[drawn] + random.normal(0, 0.02) + random.normal(0, 0.3, size=50)
        rows.append({f"t{task}": float(value) for task, value in zip(drawn, values, strict=True)})
    return rows


@pytest.mark.parametrize(("seeds", "paired"), [(5, 0.86), (8, 0.77)])
def test_where_seeds_share_tasks_the_two_way_interval_holds_the_truth_and_the_paired_one_too_seldom(
    seeds: int, paired: float
) -> None:
    random, two_way_holds, paired_holds = np.random.default_rng(20261130), 0, 0
    for _ in range(400):
        rows = drawn_from_a_list(random, seeds)
        assert 0.4 < (shared_tasks(rows) or 0) < 0.7
        low, high = two_way_interval(rows, 0.05) or (1, 1)
        two_way_holds += low <= 0 <= high
        low, high = t_interval([mean(list(row.values())) for row in rows], 0.05) or (1, 1)
        paired_holds += low <= 0 <= high
    assert 0.94 <= two_way_holds / 400 <= 0.99
    assert paired_holds / 400 <= paired


def tables(effect: float) -> list[Input]:
    control, treated = simulated(np.random.default_rng(7), (10, 8, 100), DEVIATION, effect)
    return [
        analysis_input({"none": a.tolist(), "oracle": b.tolist()}, margin=0.1)
        for a, b in zip(control, treated, strict=True)
    ]


def verdict_counts(values: list[Input]) -> dict[str, int]:
    found = [analyze(value)["contrasts"][0]["verdict"] for value in values]
    return {name: found.count(name) for name in sorted(set(found))}


def test_long_tables_without_a_difference_are_equivalent_and_seldom_anything_else() -> None:
    found = verdict_counts(tables(0))
    assert found.get("better", 0) + found.get("worse", 0) <= 2
    assert found["equivalent"] >= 8


def test_long_tables_with_fifteen_points_are_better() -> None:
    assert verdict_counts(tables(0.15)) == {"better": 10}


@pytest.mark.parametrize("fault", ["unmatched effort", "missing cell", "leak"])
def test_a_fault_makes_a_long_table_invalid_however_large_its_difference(fault: str) -> None:
    changes: dict[str, Input] = {
        "unmatched effort": {
            "checkpoints": [{"checkpoint": 2, "effort": {"updates": 501, "trainedTokens": 4e5}}]
        },
        "missing cell": {"status": "missing", "reason": "collapsed host"},
        "leak": {"leakedTasks": 1},
    }
    value = tables(0.15)[0]
    value["cells"][9] |= changes[fault]
    assert verdict_counts([value]) == {"invalid": 1}
