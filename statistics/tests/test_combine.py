"""Several environments together: interquartile mean, optimality gap, performance profile."""

from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from coevolve_statistics.checked import InputProblem
from coevolve_statistics.combine import combine

#: The runs of test_known_answers.py. rliable 1.2.0 gives interquartile means of .475 and .625.
A = [[0.5, 0.5], [0.4, 0.5], [0.3, 0.5]]
B = [[0.7, 0.6], [0.6, 0.5], [0.6, 0.7]]


def value(arms: dict[str, list[list[float]]]) -> dict[str, Any]:
    rows = [{"arm": arm, "values": values} for arm, values in arms.items()]
    seeds = len(next(iter(arms.values()))[0])
    return {"environments": ["sql", "science", "shop"], "seeds": seeds, "arms": rows}


def arms_of(arms: dict[str, list[list[float]]]) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], combine(value(arms))["arms"])


def of(runs: list[list[float]]) -> dict[str, Any]:
    return arms_of({"a": runs})[0]


def test_the_interquartile_means_are_those_of_rliable_and_the_gap_is_what_lacks_to_one() -> None:
    found = arms_of({"a": A, "b": B})
    assert [row["iqm"]["value"] for row in found] == pytest.approx([0.475, 0.625])
    assert [row["gap"]["value"] for row in found] == pytest.approx([0.55, 0.3833333])


def test_a_profile_is_the_share_of_runs_above_each_score() -> None:
    shares = {point["score"]: point["value"] for point in of(A)["profile"]}
    assert len(shares) == 101
    assert [shares[score] for score in (0, 0.29, 0.3, 0.4, 0.5)] == pytest.approx([1, 1, 5 / 6, 4 / 6, 0])


def test_fewer_than_eight_seeds_have_no_interval() -> None:
    assert of([[0.5] * 7] * 3)["iqm"] == {"value": 0.5, "low": None, "high": None}
    assert of([[0.5] * 8] * 3)["iqm"] == {"value": 0.5, "low": 0.5, "high": 0.5}


def test_seeds_are_drawn_within_their_environment() -> None:
    """Environments that are far apart widen no interval, as they would if all runs were drawn together."""
    gap = of([[0.1] * 8, [0.5] * 8, [0.9] * 8])["gap"]
    assert (gap["low"], gap["high"]) == pytest.approx((gap["value"], gap["value"]))


def test_intervals_are_near_those_of_scipys_bootstrap() -> None:
    runs = np.random.default_rng(3).uniform(0.2, 0.8, size=(3, 8))
    expected = stats.bootstrap(
        tuple(runs),
        lambda a, b, c, axis: 1 - (a.mean(axis=axis) + b.mean(axis=axis) + c.mean(axis=axis)) / 3,
        method="percentile",
        n_resamples=20_000,
        random_state=1,
    ).confidence_interval
    gap = of(runs.tolist())["gap"]
    assert (gap["low"], gap["high"]) == pytest.approx((expected.low, expected.high), abs=0.005)


def test_an_interval_of_eight_seeds_holds_the_true_gap_in_about_nine_cases_of_ten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("coevolve_statistics.combine.SCORES", [])  # profiles of 50 arms take long
    random, truth = np.random.default_rng(7), np.array([[0.3], [0.5], [0.7]])
    rows = {str(n): (truth + random.normal(0, 0.04, size=(3, 8))).tolist() for n in range(50)}
    found = [row["gap"] for row in arms_of(rows)]
    assert 41 <= sum(gap["low"] <= 0.5 <= gap["high"] for gap in found) <= 49


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"environments": ["sql", "sql", "shop"]},
        "environments: found ['sql', 'sql', 'shop'], expected at least",
    ),
    ({"environments": ["sql", "shop"]}, "environments: found ['sql', 'shop'], expected at least 3 different"),
    ({"seeds": 1}, "seeds: found 1, expected an integer from 2"),
    (
        {"seeds": 3},
        "arms[0].values: found [[0.5, 0.5], [0.4, 0.5], [0.3, 0.5]], expected 3 lists of 3 values",
    ),
    (
        {"arms": [{"arm": "a", "values": [[2]]}]},
        "arms[0].values[0][0]: found 2, expected a number from 0 to 1",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_an_unusable_input_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputProblem) as refused:
        combine({**value({"a": A}), **changes})
    assert str(refused.value).startswith(message)
