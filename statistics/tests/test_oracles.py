"""Comparison with scipy and statsmodels where they have the same procedure by other code."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups
from statsmodels.stats.weightstats import DescrStatsW

from coevolve_statistics.levels import holm
from coevolve_statistics.paired import equivalence, paired_t, sign_flip, t_interval
from coevolve_statistics.power import power, seeds_needed
from coevolve_statistics.proportions import wilson
from coevolve_statistics.two_way import two_way_error

RANDOM = np.random.default_rng(5)
SAMPLES = [RANDOM.normal(0.02, 0.04, size=size).tolist() for size in (2, 3, 5, 8, 16)]


@pytest.mark.parametrize("values", SAMPLES, ids=len)
def test_a_sample_has_the_t_test_the_interval_and_the_equivalence_of_statsmodels(values: list[float]) -> None:
    described = DescrStatsW(values)
    assert paired_t(values) == pytest.approx(described.ttest_mean()[1], rel=1e-12)
    assert t_interval(values, 0.05) == pytest.approx(described.tconfint_mean(0.05), rel=1e-9)
    one_sided = [described.ttest_mean(-0.05, "larger")[1], described.ttest_mean(0.05, "smaller")[1]]
    assert equivalence(values, 0.05) == pytest.approx(max(one_sided), rel=1e-9)


@pytest.mark.parametrize("values", SAMPLES[2:4], ids=len)
def test_exact_sign_flips_are_those_of_scipy(values: list[float]) -> None:
    found = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values) == pytest.approx(found.pvalue)


def test_drawn_sign_flips_are_close_to_the_exact_ones() -> None:
    values = SAMPLES[4]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 16)).reshape(16, -1)
    exact = np.mean(np.abs(values @ signs) >= abs(sum(values)) - 1e-12)
    assert sign_flip(values) == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))


def test_adjusted_p_values_are_those_of_statsmodels() -> None:
    for size in (1, 2, 4, 9):
        ps = RANDOM.random(size).tolist()
        assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1])


@pytest.mark.parametrize(("effect", "seeds", "level"), [(0.5, 8, 0.05), (1, 5, 0.0125), (1.2, 16, 0.0294)])
def test_power_is_that_of_statsmodels(effect: float, seeds: int, level: float) -> None:
    assert power(effect, 1, seeds, level) == pytest.approx(TTestPower().power(effect, seeds, level), rel=1e-9)


def test_the_seeds_needed_are_those_of_statsmodels_rounded_up() -> None:
    for effect in (0.3, 0.5, 1.2):
        exact = TTestPower().solve_power(effect, power=0.8, alpha=0.05)
        assert seeds_needed(effect, 1, 0.05) == np.ceil(exact)


def test_wilson_intervals_are_those_of_scipy() -> None:
    for successes, trials in ((0, 5), (5, 5), (3, 8), (108, 200)):
        expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
        assert wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_an_error_by_seed_and_task_is_that_of_statsmodels() -> None:
    of_task = RANDOM.normal(0, 0.3, size=30)
    drawn = [RANDOM.permutation(30)[:20] for _ in range(5)]
    values = [of_task[tasks] + RANDOM.normal(0, 0.05) + RANDOM.normal(0, 0.1, size=20) for tasks in drawn]
    fitted = OLS(np.concatenate(values), np.ones(100)).fit()
    both, of_seeds, _ = cov_cluster_2groups(fitted, np.repeat(range(5), 20), np.concatenate(drawn))
    assert both > 1.2 * of_seeds  # tasks matter here
    rows = [dict(zip(map(str, t), v.tolist(), strict=True)) for t, v in zip(drawn, values, strict=True)]
    assert two_way_error(rows) == pytest.approx(np.sqrt(both.item()), rel=1e-12)
