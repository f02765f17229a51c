"""Mean and deviation with exact sums, so that the order of the values changes no bit of a result."""

import math
from collections.abc import Sequence

#: Scores lie in [0, 1]. Differences of equal scores may differ by rounding, at most by 1e-15.
TOLERANCE = 1e-12


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Standard deviation with n - 1; rounding errors count as 0."""
    center = mean(values)
    sd = math.sqrt(math.fsum((value - center) ** 2 for value in values) / (len(values) - 1))
    return sd if sd > TOLERANCE else 0.0
