"""Page's test of an order of arms, and the area under a learning curve."""

from collections.abc import Sequence

import numpy as np
from scipy import stats


def page(rows: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """L and its exact p: rows are seeds, columns are arms in the expected ascending order.

    It supports "some trend", not the chain of steps. None for fewer than three arms or two seeds.
    """
    if len(rows) < 2 or len(rows[0]) < 3:
        return None
    # Ties within a seed get mean ranks; scores that differ by rounding alone are ties.
    found = stats.page_trend_test(np.round(rows, 12), method="exact")
    return float(found.statistic), float(found.pvalue)


def area(points: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Mean height of the curve between `start` and `end`: trapezoids, linear between points.

    Both ends lie within the curve, so nothing is extrapolated.
    """
    xs, ys = zip(*points, strict=True)
    inner = [(x, y) for x, y in points if start < x < end]
    knots = [(start, float(np.interp(start, xs, ys))), *inner, (end, float(np.interp(end, xs, ys)))]
    kx, ky = zip(*knots, strict=True)
    return float(np.trapezoid(ky, kx) / (end - start))
