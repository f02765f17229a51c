"""One contrast over several experiments: known answers, statsmodels, and simulated rates."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from coevolve_statistics.checked import InputProblem
from coevolve_statistics.pool import Study, pool, pooled

#: Positive and negative, vaccinated and not, of the 13 trials of BCG: dat.bcg of R's metafor.
BCG = [
    (4, 119, 11, 128),
    (6, 300, 29, 274),
    (3, 228, 11, 209),
    (62, 13536, 248, 12619),
    (33, 5036, 47, 5761),
    (180, 1361, 372, 1079),
    (8, 2537, 10, 619),
    (505, 87886, 499, 87892),
    (29, 7470, 45, 7232),
    (17, 1699, 65, 1600),
    (186, 50448, 141, 27197),
    (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
]


def trial(a: int, b: int, c: int, d: int) -> Study:
    """Logarithm of the relative risk, and its error."""
    error = np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    return Study(float(np.log(a / (a + b) / (c / (c + d)))), float(error), 100)


def study(difference: float, sd: float, seeds: int = 5) -> dict[str, float]:
    return {"difference": difference, "sd": sd, "seeds": seeds}


def test_the_trials_of_bcg_have_the_mean_tau_and_i2_that_metafor_and_stata_give() -> None:
    found = pooled([trial(*row) for row in BCG])
    assert found["difference"] == pytest.approx(-0.7141, abs=5e-5)
    assert found["tau"] ** 2 == pytest.approx(0.3088, abs=5e-5)
    assert found["i2"] == pytest.approx(0.921173, abs=5e-7)
    q = stats.norm.ppf(0.975) * found["error"]
    assert q == pytest.approx(
        (1.0644 - 0.3638) / 2, rel=0.02
    )  # their interval has no correction for few studies


def test_the_interval_is_that_of_statsmodels() -> None:
    studies = [trial(*row) for row in BCG]
    effects, variances = ([s.difference for s in studies], [s.error**2 for s in studies])
    fitted = combine_effects(np.array(effects), np.array(variances), method_re="dl", use_t=True)
    found = pooled(studies)
    assert fitted.scale_hksj_re > 1  # so that the lower bound of the error does not act
    assert found["tau"] ** 2 == pytest.approx(fitted.tau2, rel=1e-12)
    assert (found["low"], found["high"]) == pytest.approx(fitted.conf_int()[3], rel=1e-12)
    spread = np.sqrt(fitted.var_hksj_re + fitted.tau2) * stats.t.ppf(0.975, 12)
    assert found["predictedHigh"] == pytest.approx(fitted.mean_effect_re + spread, rel=1e-12)


def test_experiments_that_agree_have_no_tau_and_the_error_of_equal_effects() -> None:
    found = pool({"studies": [study(0.02, 0.03, 9), study(0.021, 0.03, 9), study(0.019, 0.03, 9)]})
    assert (found["pooled"]["tau"], found["pooled"]["i2"]) == (0, 0)
    assert found["pooled"]["error"] == pytest.approx(0.01 / np.sqrt(3))
    assert [row["weight"] for row in found["studies"]] == pytest.approx([1 / 3] * 3)


def test_each_line_of_leaving_one_out_is_the_mean_of_the_others() -> None:
    rows = [study(0.02, 0.03), study(-0.05, 0.02, 8), study(0.04, 0.05)]
    found = pool({"studies": rows})
    assert found["without"][1] == pool({"studies": [rows[0], rows[2]]})["pooled"]
    assert found["without"][1]["predictedLow"] is None  # two experiments


def test_one_experiment_that_is_left_has_its_difference_and_no_interval() -> None:
    found = pool({"studies": [study(0.02, 0.03), study(-0.05, 0.02)]})["without"][0]
    assert (found["difference"], found["low"], found["p"], found["tau"]) == (-0.05, None, None, 0)


def test_an_experiment_has_the_t_interval_of_its_seeds() -> None:
    row = pool({"studies": [study(0.02, 0.03), study(-0.05, 0.02)]})["studies"][0]
    expected = stats.t.interval(0.95, 4, 0.02, 0.03 / np.sqrt(5))
    assert (row["low"], row["high"]) == pytest.approx(expected)


def drawn(random: np.random.Generator, tau: float, sds: tuple[float, ...]) -> list[dict[str, float]]:
    """Experiments whose true differences have the mean 0, by their seeds: 8, 5, 5 and 8."""
    rows = []
    for sd, seeds in zip(sds, (8, 5, 5, 8), strict=True):
        values = random.normal(random.normal(0, tau), sd, size=seeds)
        rows.append(study(float(values.mean()), float(values.std(ddof=1)), seeds))
    return rows


@pytest.mark.parametrize(("tau", "least"), [(0, 0.97), (0.02, 0.94), (0.05, 0.92)])
def test_four_experiments_hold_the_mean_of_the_true_differences_about_as_promised(
    tau: float, least: float
) -> None:
    """Deviations of single seeds are estimated, and differ between experiments."""
    random, holds, normal_holds = np.random.default_rng(20261130), 0, 0
    for _ in range(600):
        found = pool({"studies": drawn(random, tau, (0.04, 0.03, 0.05, 0.03))})["pooled"]
        holds += found["low"] <= 0 <= found["high"]
        normal_holds += abs(found["difference"]) <= 1.96 * found["error"]
    assert least <= holds / 600 <= 0.999
    assert normal_holds < holds - 20  # a normal interval holds it too seldom


REFUSED: list[tuple[Any, str]] = [
    ([study(0.02, 0.03)], "studies: found [{'difference': 0.02, 'sd': 0.03, 'seeds': 5}], expected at least"),
    ([study(0.02, 0), study(0, 1)], "studies[0].sd: found 0, expected a number above 0 and below 2"),
    ([study(0.02, 1, 1), study(0, 1)], "studies[0].seeds: found 1, expected an integer from 2"),
]


@pytest.mark.parametrize(("studies", "message"), REFUSED)
def test_an_unusable_input_is_refused(studies: Any, message: str) -> None:
    with pytest.raises(InputProblem) as refused:
        pool({"studies": studies})
    assert str(refused.value).startswith(message)
