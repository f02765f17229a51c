"""One contrast over several experiments: src/statistics/pool.ts declares the shapes of input and output.

Random effects: the true differences of the experiments deviate by tau from their mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from scipy import stats

from .checked import Json, checked, refuse
from .paired import interval_of

#: Level of every interval.
LEVEL = 0.05
#: A prediction from two experiments would have one degree of freedom for the differences between them.
LEAST_FOR_PREDICTION = 3


@dataclass(frozen=True, slots=True)
class Study:
    difference: float
    error: float
    seeds: int


def pool(value: object) -> Json:
    items = checked(value, "pool")["studies"]
    if len(items) < 2:
        refuse("studies", items, "at least two experiments")
    studies = [
        Study(item["difference"], item["sd"] / math.sqrt(item["seeds"]), item["seeds"]) for item in items
    ]
    weights = _weights(studies, _tau2(studies))
    return {
        "studies": [
            _study_row(study, weight / math.fsum(weights))
            for study, weight in zip(studies, weights, strict=True)
        ],
        "pooled": pooled(studies),
        "without": [pooled(studies[:index] + studies[index + 1 :]) for index in range(len(studies))],
    }


def pooled(studies: Sequence[Study]) -> Json:
    """The mean of the true differences, with the interval of Hartung, Knapp, Sidik and Jonkman.

    t with k - 1 degrees of freedom (IntHout et al. 2014, doi:10.1186/1471-2288-14-25). The scale of the
    error is at least 1 (Knapp and Hartung 2003, doi:10.1002/sim.1482): otherwise few experiments that agree
    by chance have a narrower interval than equal effects would give. Prediction: IntHout et al. 2016
    (doi:10.1136/bmjopen-2015-010247). One experiment alone has no interval.
    """
    tau2, freedom = _tau2(studies), len(studies) - 1
    weights = _weights(studies, tau2)
    center = _mean(studies, weights)
    error = None
    if freedom > 0:
        scale = _scatter(studies, weights) / freedom
        error = math.sqrt(max(1.0, scale) / math.fsum(weights))
    low, high = interval_of(center, error, freedom, LEVEL) or (None, None)
    spread = math.hypot(error, math.sqrt(tau2)) if error and len(studies) >= LEAST_FOR_PREDICTION else None
    predicted_low, predicted_high = interval_of(center, spread, freedom, LEVEL) or (None, None)
    return {
        "studies": len(studies),
        "difference": center,
        "error": error,
        "low": low,
        "high": high,
        "p": float(2 * stats.t.sf(abs(center) / error, freedom)) if error else None,
        "tau": math.sqrt(tau2),
        "i2": _i2(studies),
        "predictedLow": predicted_low,
        "predictedHigh": predicted_high,
    }


def _study_row(study: Study, weight: float) -> Json:
    low, high = interval_of(study.difference, study.error, study.seeds - 1, LEVEL) or (None, None)
    return {"low": low, "high": high, "weight": weight}


def _tau2(studies: Sequence[Study]) -> float:
    """Variance between the experiments (DerSimonian and Laird 1986, doi:10.1016/0197-2456(86)90046-2)."""
    weights = _weights(studies, 0)
    total = math.fsum(weights)
    room = total - math.fsum(map(mul, weights, weights)) / total
    return max(0.0, (_scatter(studies, weights) - (len(studies) - 1)) / room) if room > 0 else 0.0


def _i2(studies: Sequence[Study]) -> float:
    """Share of the scatter beyond chance within the experiments (Higgins and Thompson 2002)."""
    scatter = _scatter(studies, _weights(studies, 0))
    return max(0.0, 1 - (len(studies) - 1) / scatter) if scatter > 0 else 0.0


def _scatter(studies: Sequence[Study], weights: Sequence[float]) -> float:
    """Weighted squares around the weighted mean; with the weights of equal effects it is Cochran's Q."""
    center = _mean(studies, weights)
    squares = [(study.difference - center) ** 2 for study in studies]
    return math.fsum(map(mul, weights, squares))


def _mean(studies: Sequence[Study], weights: Sequence[float]) -> float:
    return math.fsum(map(mul, weights, [study.difference for study in studies])) / math.fsum(weights)


def _weights(studies: Sequence[Study], tau2: float) -> list[float]:
    return [1 / (study.error**2 + tau2) for study in studies]
