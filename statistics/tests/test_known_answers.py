"""Numbers that were computed beforehand with scipy 1.17.1, statsmodels 0.15.0 and rliable 1.2.0."""

import math

import numpy as np
import pytest
from scipy import stats

from coevolve_statistics.descriptions import iqm
from coevolve_statistics.levels import holm, look_level
from coevolve_statistics.paired import (
    effect_size,
    equivalence,
    paired_t,
    sign_flip,
    t_interval,
    trimmed,
    trimmed_p,
    typical,
    wins,
)
from coevolve_statistics.power import detectable, difference_sd, equivalence_power, power, seeds_needed
from coevolve_statistics.proportions import mcnemar, wilson
from coevolve_statistics.sums import deviation, mean
from coevolve_statistics.trend import area, page

# Six seeds with ten tasks each, of two arms.
A = ["1100101100", "0110101010", "1000101100", "1010001110", "0100101000", "1110100100"]
B = ["1110101101", "0110111010", "1001101110", "1010011010", "1101101001", "1110110101"]
D = [mean([float(b) for b in bs]) - mean([float(a) for a in as_]) for as_, bs in zip(A, B, strict=True)]
EIGHT = [0.045, -0.010, 0.060, 0.025, 0.005, 0.035, -0.020, 0.050]


def exactly(value: object) -> object:
    """All printed digits: the references have 16 and 17."""
    return pytest.approx(value, rel=1e-13, abs=1e-15)


def test_six_seeds_give_the_known_paired_t_test_and_intervals() -> None:
    assert mean(D) == exactly(0.16666666666666666)
    assert deviation(D) == exactly(0.10327955589886445)
    assert paired_t(D) == exactly(0.01081989741190373)
    assert t_interval(D, 0.05) == exactly((0.05828141983376878, 0.27505191349956454))
    assert t_interval(D, 0.10) == exactly((0.08170476726467125, 0.251628566068662))


def test_six_seeds_give_the_known_equivalence_sign_flip_and_sizes() -> None:
    assert equivalence(D, 0.05) == exactly(0.9802470951623293)
    assert equivalence(D, 0.30) == exactly(0.01251550790922648)
    assert sign_flip(D) == 0.0625
    assert effect_size(D) == exactly(1.3589415249850585)
    assert wins(D) / 6 == exactly(0.9166666666666666)


def test_the_interquartile_mean_trims_a_quarter_of_the_seeds_at_each_end() -> None:
    assert iqm([0.5, 0.5, 0.4, 0.5, 0.3, 0.5]) == exactly(0.475)
    assert iqm([0.7, 0.6, 0.6, 0.5, 0.6, 0.7]) == exactly(0.625)
    assert iqm([0.42, 0.455, 0.43, 0.515, 0.54, 0.525, 0.59, 0.48]) == exactly(0.49375)


def test_eight_seeds_give_the_known_answers() -> None:
    assert mean(EIGHT) == exactly(0.02375)
    assert deviation(EIGHT) == exactly(0.029246489410818914)
    assert paired_t(EIGHT) == exactly(0.05524599375675372)
    assert t_interval(EIGHT, 0.05) == pytest.approx((-0.0007006770, 0.0482006770), abs=5e-11)
    assert sign_flip(EIGHT) == 0.0703125


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [
        (11, 1, 0.00634765625),
        (40, 13, 0.0002685401188191605),
        (30, 16, 0.054076031858869555),
        (10, 20, 0.09873714670538905),
        (16, 28, 0.09614175442061423),
        (7, 1, 0.0703125),
        (0, 0, 1.0),
    ],
)
def test_discordant_pairs_have_the_known_exact_p(won: int, lost: int, p: float) -> None:
    assert mcnemar(won, lost) == exactly(p)


@pytest.mark.parametrize(
    ("successes", "low", "high"),
    [(84, 0.353736, 0.489279), (103, 0.446108, 0.583326), (108, 0.470823, 0.607669)],
)
def test_shares_of_200_tasks_have_the_known_wilson_intervals(successes: int, low: float, high: float) -> None:
    assert wilson(successes, 200) == pytest.approx((low, high), abs=5e-7)


def test_holm_corrects_a_family_as_known() -> None:
    assert holm([0.001, 0.012, 0.034, 0.20]) == exactly([0.004, 0.036, 0.068, 0.20])
    assert holm([0.004, 0.03, 0.021, 0.4]) == exactly([0.016, 0.063, 0.063, 0.4])


def test_two_equal_looks_of_many_seeds_have_the_level_of_pocock() -> None:
    assert look_level(0.05, [16]) == 0.05
    # Jennison and Turnbull 2000, table 2.1
    assert look_level(0.05, [2000, 4000]) == pytest.approx(0.0294, abs=5e-5)
    assert look_level(0.01, [2000, 4000]) == pytest.approx(0.0056, abs=5e-5)


def test_looks_after_three_share_alpha_equally_and_a_look_at_one_seed_costs_nothing() -> None:
    assert look_level(0.06, [3, 5, 8]) == pytest.approx(0.02)
    assert look_level(0.05, [1, 8, 8]) == 0.05


def test_power_of_one_deviation_is_as_known() -> None:
    assert power(1, 1, 8, 0.05) == exactly(0.6808339582062661)
    assert power(1, 1, 10, 0.05) == exactly(0.8030968566327218)
    assert power(1, 1, 10, 0.0125) == exactly(0.5473318804488909)
    assert seeds_needed(0.5, 1, 0.05) == 34  # 80 % at 33.367


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [(200, (0.083, 0.057, 0.037)), (500, (0.070, 0.048, 0.031)), (1000, (0.065, 0.045, 0.029))],
)
def test_run_deviation_of_2_5_points_detects_the_known_differences(
    tasks: int, expected: tuple[float, ...]
) -> None:
    sd = difference_sd(0.025, 0.24, tasks)
    assert [detectable(sd, seeds, 0.05) for seeds in (5, 8, 16)] == pytest.approx(expected, abs=1.1e-3)


def test_two_seeds_detect_nothing_at_a_strict_level() -> None:
    assert detectable(0.05, 2, 0.05) == pytest.approx(0.577, abs=1e-3)  # simulated: 80.06 % of 200,000
    assert detectable(0.05, 2, 0.0125) is None  # it would take 2.3, and 1 is the largest difference


@pytest.mark.parametrize(("seeds", "deviations"), [(3, 10), (8, 10), (16, 3)])
def test_power_is_a_number_where_scipy_gives_none(seeds: int, deviations: float) -> None:
    assert power(deviations, 1, seeds, 0.05) == pytest.approx(1, abs=1e-6)


def test_the_known_trend_is_significant_and_the_chain_is_not() -> None:
    rows = [
        (0.42, 0.455, 0.46, 0.50),
        (0.44, 0.43, 0.47, 0.485),
        (0.41, 0.45, 0.44, 0.47),
        (0.45, 0.46, 0.48, 0.475),
        (0.43, 0.44, 0.465, 0.51),
        (0.46, 0.455, 0.47, 0.49),
    ]
    assert page(rows) == exactly((176, 1.546810029792524e-05))
    steps = [paired_t([row[i + 1] - row[i] for row in rows]) for i in range(3)]
    assert steps == pytest.approx([0.17049523, 0.07323565, 0.02299384], abs=5e-9)


def test_the_area_under_a_curve_is_the_mean_height() -> None:
    points = [(0.0, 0.42), (120e3, 0.47), (260e3, 0.515), (400e3, 0.54)]
    assert area(points, 0, 400e3) == exactly(0.4905)
    assert area(points, 60e3, 120e3) == exactly(0.4575)  # 0.445 is interpolated


def test_the_typical_difference_is_the_median_of_all_pairs() -> None:
    assert typical([1, 2, 4]) == exactly(2.25)  # of 1, 1.5, 2, 2.5, 3 and 4
    assert typical([0.25] * 7 + [-0.6]) == exactly(0.25)  # one collapse of eight


def test_a_trimmed_mean_leaves_out_a_fifth_of_the_seeds_at_each_end() -> None:
    assert trimmed([1, 2, 3, 4, 90]) == exactly(3)
    assert trimmed([0.25] * 7 + [-0.6]) == exactly(0.25)
    assert trimmed(list(range(9))) == exactly(4)
    assert trimmed([1, 2, 3, 4]) is None


def test_the_p_of_a_trimmed_mean_is_near_that_by_a_t_distribution_and_ignores_the_size_of_a_collapse() -> (
    None
):
    kept = [0.01, 0.02, 0.04, 0.05, 0.06, 0.07]
    winsorized = [kept[0], *kept, kept[-1]]
    error = math.sqrt(sum((value - mean(winsorized)) ** 2 for value in winsorized) / (6 * 5))
    approximate = float(2 * stats.t.sf(mean(kept) / error, 5))
    found = trimmed_p([*kept, 0.09, -0.01])
    assert found == pytest.approx(approximate, rel=0.25)
    assert trimmed_p([*kept, 0.09, -0.6]) == found
    assert trimmed_p([0.1, 0.2, 0.3, 0.4]) is None
    assert trimmed_p([0.25] * 8) is None


def test_the_chance_to_show_equivalence_is_that_of_simulated_experiments() -> None:
    values = np.random.default_rng(3).normal(0, 0.04, size=(200_000, 8))
    error = values.std(axis=1, ddof=1) / np.sqrt(8)
    shown = np.abs(values.mean(axis=1)) + stats.t.isf(0.05, 7) * error < 0.05
    assert equivalence_power(0.05, 0.04, 8, 0.05) == pytest.approx(float(np.mean(shown)), abs=0.003)
    assert equivalence_power(0.05, 0.5, 8, 0.05) == pytest.approx(0, abs=1e-3)
    assert equivalence_power(0.05, 0, 8, 0.05) == 1
