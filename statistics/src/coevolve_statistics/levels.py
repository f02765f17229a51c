"""Several tests: Holm's correction of a family, and the level of one of two looks (Pocock)."""

import math
from collections.abc import Sequence

from scipy import integrate, optimize, special, stats


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
    """Level of every look, so that all of them together have `alpha`.

    One look: alpha. Two: Pocock 1977, 2 (1 - Phi(c)) with P(|Z1| < c, |Z2| < c) = 1 - alpha, where the
    correlation of Z1 and Z2 is sqrt(S1 / S2): .0294 for alpha = .05 and S2 = 2 S1.
    """
    if len(looks) == 1:
        return alpha
    correlation = math.sqrt(looks[0] / looks[1])
    rest = math.sqrt(1 - correlation**2)

    def spent(c: float) -> float:
        def density(z: float) -> float:
            upper, lower = (c - correlation * z) / rest, (-c - correlation * z) / rest
            return math.exp(-z * z / 2) * float(special.ndtr(upper) - special.ndtr(lower))

        return 1 - float(integrate.quad(density, -c, c, epsabs=1e-12)[0]) / math.sqrt(2 * math.pi)

    least, most = (float(stats.norm.isf(level / 2)) for level in (alpha, alpha / 2))
    c = optimize.brentq(lambda value: spent(value) - alpha, least, most, xtol=1e-12)
    return float(2 * stats.norm.sf(c))
