"""Several tests: Holm's correction of a family, and the level of every one of several looks."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import optimize, special, stats


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values. A contrast without a p stays in the family, as if its p were 1."""
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: 1.0 if (p := ps[i]) is None else p)):
        p = ps[index]
        if p is not None:
            largest = max(largest, min(1.0, (len(ps) - rank) * p))
            adjusted[index] = largest
    return adjusted


def look_level(alpha: float, looks: Sequence[int]) -> float:
    """Level of every look, so that all of them together have `alpha`: the same for all (as Pocock 1977).

    One look: alpha. Two: exact for paired t tests at these numbers of seeds. Pocock's constant
    assumes a known deviation; at 5 and 8 seeds it gives 5.3 % instead of 5. More looks, which no
    file can declare, share alpha equally (Bonferroni), which is never too little. A look at one seed tests
    nothing and costs nothing.
    """
    tested = sorted({seeds for seeds in looks if seeds > 1})
    if len(tested) < 2:
        return alpha
    return _level_of_two(alpha, tested[0], tested[1]) if len(tested) == 2 else alpha / len(tested)


@cache
def _level_of_two(alpha: float, first: int, second: int) -> float:
    def excess(level: float) -> float:
        return 1 - _both_within(level, first, second) - alpha

    return float(optimize.brentq(excess, 0.4 * alpha, alpha, xtol=1e-9))


#: Nodes of the quadrature over the two sums of squares and the first mean. The level is right to 1e-5 at
#: 5 and 8 seeds, and to 1e-4 at 2 and 3.
NODES = (48, 48, 64)
#: A standard normal value beyond it has no weight.
FARTHEST = 9.0


def _both_within(level: float, first: int, second: int) -> float:
    """Chance that |t| stays below its critical value at both looks, for normal differences of mean 0.

    The first seeds have the standardised mean z and the sum of squares s, those added the standardised mean
    y and the sum of squares r. Both t statistics are functions of them; y is integrated in closed form.
    """
    added = second - first
    s, weight_s = _squares(first - 1, NODES[0])
    r, weight_r = _squares(added - 1, NODES[1])
    nodes, weights = special.roots_legendre(NODES[2])
    widest = np.minimum(_critical(level, first) * np.sqrt(s / (first - 1)), FARTHEST)
    z = nodes * widest[:, np.newaxis]
    weight_z = weights * widest[:, np.newaxis] * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    chance = _second_within(
        level, (first, second), z[:, np.newaxis, :], s[:, np.newaxis, np.newaxis] + r[:, np.newaxis]
    )
    return float(np.einsum("i,j,ik,ijk->", weight_s, weight_r, weight_z, chance))


def _second_within(level: float, looks: tuple[int, int], z: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Chance over y that the second |t| stays below its critical value.

    That is (sqrt(n1) z + sqrt(m) y)^2 / n2 < k (squares + z^2 + y^2), quadratic in y.
    """
    first, second = looks
    added = second - first
    critical = _critical(level, second) ** 2
    k = critical / (second - 1 + critical)
    a = added / second - k
    b = 2 * np.sqrt(first * added) * z / second
    c = first * z**2 / second - k * (squares + z**2)
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0))
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    between = np.abs(special.ndtr(high) - special.ndtr(low))
    return np.asarray(between if a > 0 else 1 - between)


def _squares(freedom: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a chi-squared sum, by its root, in which the chance is smooth."""
    if freedom == 0:
        return np.zeros(1), np.ones(1)
    unit, weights = special.roots_legendre(nodes)
    middle = math.sqrt(freedom)
    low, high = max(0.0, middle - FARTHEST), middle + FARTHEST
    root = low + (high - low) * (unit + 1) / 2
    dense = weights * stats.chi.pdf(root, freedom)
    return root**2, dense / dense.sum()


def _critical(level: float, seeds: int) -> float:
    return float(stats.t.isf(level / 2, seeds - 1))
