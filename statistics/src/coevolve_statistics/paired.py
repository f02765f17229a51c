"""Tests and sizes of a difference between two arms, from the differences of their seeds (the replicates)."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy import stats

from .sums import TOLERANCE, deviation, mean

#: Up to this number of seeds every assignment of signs is counted (4,096); above, signs are drawn.
EXACT_SEEDS = 12
DRAWS = 100_000


def paired_t(differences: Sequence[float]) -> float | None:
    """Two-sided p of the paired t test; None for one seed, or without deviation."""
    error = standard_error(differences)
    if not error:
        return 1.0 if len(differences) > 1 and is_zero(differences) else None
    return float(2 * stats.t.sf(abs(mean(differences)) / error, len(differences) - 1))


def t_interval(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """Interval of the mean at confidence `1 - level`; None for one value, or without deviation."""
    return interval_of(mean(values), standard_error(values), len(values) - 1, level)


def interval_of(center: float, error: float | None, freedom: int, level: float) -> tuple[float, float] | None:
    """Interval by t at confidence `1 - level`; None without an error, since width 0 would claim certainty."""
    if not error:
        return None
    width = float(stats.t.ppf(1 - level / 2, freedom)) * error
    return center - width, center + width


def equivalence(differences: Sequence[float], margin: float) -> float | None:
    """p of two one-sided tests (TOST): below it, the difference lies within (-margin, margin)."""
    error = standard_error(differences)
    if not error:
        return None
    center, freedom = mean(differences), len(differences) - 1
    above = float(stats.t.sf((center + margin) / error, freedom))
    below = float(stats.t.cdf((center - margin) / error, freedom))
    return max(above, below)


def sign_flip(differences: Sequence[float]) -> float:
    """p of the sign-flip test: exact up to 12 seeds, above by seeded draws: (hits + 1) / (draws + 1)."""
    values = np.array(sorted(differences))
    found = abs(math.fsum(differences)) - TOLERANCE
    if len(values) <= EXACT_SEEDS:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(values))))
        return float(np.mean(np.abs(signs @ values) >= found))
    draws = np.random.default_rng(1).choice((-1.0, 1.0), size=(DRAWS, len(values)))
    return float((np.sum(np.abs(draws @ values) >= found) + 1) / (DRAWS + 1))


def typical(differences: Sequence[float]) -> float:
    """Hodges-Lehmann estimate: the median of the means of all pairs, each seed paired with itself too.

    One collapsed seed of eight moves it little, and the mean by an eighth of the collapse.
    """
    values = np.array(sorted(differences))
    rows, columns = np.triu_indices(len(values))
    return float(np.median((values[rows] + values[columns]) / 2))


def effect_size(differences: Sequence[float]) -> float | None:
    """g_z: mean over deviation, corrected for few seeds; from three seeds on (the correction is 0 at two)."""
    sd = deviation(differences) if len(differences) > 2 else 0.0
    return mean(differences) / sd * (1 - 3 / (4 * (len(differences) - 1) - 1)) if sd else None


def wins(differences: Sequence[float]) -> float:
    """Seeds with a positive difference, with half of the ties."""
    return math.fsum(0.5 if abs(value) <= TOLERANCE else float(value > 0) for value in differences)


def standard_error(values: Sequence[float]) -> float | None:
    return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else None


def is_zero(differences: Sequence[float]) -> bool:
    return all(abs(value) <= TOLERANCE for value in differences)
