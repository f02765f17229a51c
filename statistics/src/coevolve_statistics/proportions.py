"""Counts: Wilson's interval of a share and McNemar's exact test of discordant pairs."""

import math

from scipy import stats


def wilson(successes: float, trials: int, level: float = 0.05) -> tuple[float, float]:
    """Wilson's interval at confidence `1 - level`; `successes` may contain halves, for ties."""
    z = float(stats.norm.ppf(1 - level / 2))
    share = successes / trials
    center = share + z * z / (2 * trials)
    width = z * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    scale = 1 + z * z / trials
    return max(0.0, (center - width) / scale), min(1.0, (center + width) / scale)


def mcnemar(won: int, lost: int) -> float:
    """Two-sided exact p: the smaller of the discordant counts under a fair coin."""
    return float(stats.binomtest(min(won, lost), won + lost).pvalue) if won + lost else 1.0
