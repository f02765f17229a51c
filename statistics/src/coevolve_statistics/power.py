"""Power of the paired t test; the difference that it detects; the seeds that it needs."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import integrate, optimize, special, stats

from .sums import mean

#: Chance to detect a difference, in every "detectable" and "needed".
TARGET = 0.8
#: A larger number of seeds is reported as `None`, since no experiment is that large.
MOST_SEEDS = 10_000
DRAWS = 20_000


def power(difference: float, sd: float, seeds: int, level: float) -> float:
    """Chance of p < level with `seeds` seeds: the noncentral t distribution."""
    freedom = seeds - 1
    shift = abs(difference) * math.sqrt(seeds) / sd
    critical = float(stats.t.isf(level / 2, freedom))
    found = float(stats.nct.sf(critical, freedom, shift) + stats.nct.cdf(-critical, freedom, shift))
    return found if math.isfinite(found) else _integrated_power(critical, freedom, shift)


def _integrated_power(critical: float, freedom: int, shift: float) -> float:
    """The same by integration over the estimated deviation: scipy 1.17 gives NaN at 8 seeds, 10 sd."""

    def missed(ratio: float) -> float:
        width = critical * math.sqrt(ratio / freedom)
        inside = special.ndtr(width - shift) - special.ndtr(-width - shift)
        return float(inside * stats.chi2.pdf(ratio, freedom))

    cuts = [float(stats.chi2.ppf(share, freedom)) for share in (0, 0.1, 0.5, 0.9, 0.999, 1 - 1e-13)]
    parts = pairwise(cuts)
    return 1 - math.fsum(float(integrate.quad(missed, low, high)[0]) for low, high in parts)


def equivalence_power(margin: float, sd: float, seeds: int, level: float) -> float:
    """Chance to show equivalence (TOST) with `seeds` seeds where the arms do not differ.

    The mean must lie within the margin by more than its critical t times its estimated error; over the
    chi-squared distribution of the estimated deviation.
    """
    freedom = seeds - 1
    critical = float(stats.t.isf(level, freedom))
    error = sd / math.sqrt(seeds)
    if error == 0:
        return 1.0

    def shown(ratio: float) -> float:
        room = margin / error - critical * math.sqrt(ratio / freedom)
        return float((2 * special.ndtr(room) - 1) * stats.chi2.pdf(ratio, freedom)) if room > 0 else 0.0

    widest = freedom * (margin / (error * critical)) ** 2
    end = min(widest, float(stats.chi2.isf(1e-13, freedom)))
    return float(integrate.quad(shown, 0, end, points=[min(freedom, end) / 2], limit=200)[0])


def detectable(sd: float, seeds: int, level: float) -> float | None:
    """Smallest difference with 80 % power; None if even the largest of all, 1, has less."""
    if seeds < 2 or sd <= 0 or power(1, sd, seeds, level) < TARGET:
        return None
    return float(optimize.brentq(lambda value: power(value, sd, seeds, level) - TARGET, 0, 1, xtol=1e-12))


def seeds_needed(difference: float, sd: float, level: float) -> int | None:
    """Fewest seeds with 80 % power for `difference`; None above 10,000, or without deviation."""
    if sd <= 0 or difference <= 0 or power(difference, sd, MOST_SEEDS, level) < TARGET:
        return None
    low, high = 1, MOST_SEEDS  # power grows with the seeds: bisection
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(difference, sd, middle, level) >= TARGET else (middle, high)
    return high


def conditional_power(differences: Sequence[float], sd: float, seeds: int, level: float) -> float:
    """Chance that the test at the last look finds a difference, if further seeds vary as the present ones do.

    The mean and the deviation of the present seeds are taken as the true ones ("current trend").
    """
    drawn = np.random.default_rng(1).normal(mean(differences), sd, size=(DRAWS, seeds - len(differences)))
    every = np.hstack([np.tile(sorted(differences), (DRAWS, 1)), drawn])
    t = np.mean(every, axis=1) / (np.std(every, axis=1, ddof=1) / math.sqrt(seeds))
    return float(np.mean(np.abs(t) > stats.t.isf(level / 2, seeds - 1)))


def sd_interval(sd: float, seeds: int) -> tuple[float, float]:
    """95 % interval of the true deviation, if `seeds` normal values deviate by `sd` (chi-squared)."""
    freedom = seeds - 1
    low, high = (sd * math.sqrt(freedom / float(stats.chi2.isf(share, freedom))) for share in (0.025, 0.975))
    return low, high


def difference_sd(run_sd: float, discordance: float, tasks: int) -> float:
    """Deviation of a seed's difference: two runs, and the tasks that only one of them solves."""
    return math.sqrt(2 * run_sd**2 + discordance / tasks)
