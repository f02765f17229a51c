"""Standard error of a difference that clusters by seed and by task. It describes and tests nothing."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from .paired import interval_of
from .sums import TOLERANCE, mean

#: Differences of one seed, by task.
ByTask = Mapping[str, float]


def two_way_error(seeds: Sequence[ByTask]) -> float | None:
    """Standard error of the mean over the seeds of each seed's mean over its tasks.

    V = V_seed + V_task - V_both, each with G / (G - 1) for its G clusters (Cameron, Gelbach and Miller 2011,
    doi:10.1198/jbes.2010.07136, section 2.2). V_seed is the variance of the paired t test. Where the sum is
    smaller, which includes every negative one, V_seed stands for it, much as in MacKinnon, Nielsen and Webb
    (2024, arXiv:2406.08880), who take the largest: tasks that seeds share add noise and remove none.
    None for fewer than two seeds or two tasks.
    """
    if min(len(seeds), len(_tasks(seeds))) < 2:
        return None
    center = mean([mean(list(tasks.values())) for tasks in seeds])
    by_seed: list[float] = []
    both: list[float] = []
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for tasks in seeds:
        scores = {task: (value - center) / (len(seeds) * len(tasks)) for task, value in tasks.items()}
        by_seed.append(math.fsum(scores.values()))
        both += scores.values()
        for task, score in scores.items():
            by_task[task].append(score)
    of_seeds = _variance(by_seed)
    of_tasks = _variance([math.fsum(scores) for scores in by_task.values()])
    error = math.sqrt(max(of_seeds, of_seeds + of_tasks - _variance(both)))
    return error if error > TOLERANCE else 0.0


def two_way_interval(seeds: Sequence[ByTask], level: float) -> tuple[float, float] | None:
    """Interval of the mean at confidence `1 - level`, by t with min(seeds, tasks) - 1 degrees of freedom.

    None without an error.
    """
    center = mean([mean(list(tasks.values())) for tasks in seeds])
    return interval_of(center, two_way_error(seeds), min(len(seeds), len(_tasks(seeds))) - 1, level)


def shared_tasks(seeds: Sequence[ByTask]) -> float | None:
    """Share of the tasks of a seed that another seed has too: mean over the pairs of seeds, from 0 to 1."""
    pairs = list(combinations([set(tasks) for tasks in seeds], 2))
    return mean([len(a & b) / min(len(a), len(b)) for a, b in pairs]) if pairs else None


def _variance(sums: Sequence[float]) -> float:
    """Sum of the squares of the clusters, corrected for their number."""
    return math.fsum(value**2 for value in sums) * len(sums) / (len(sums) - 1)


def _tasks(seeds: Sequence[ByTask]) -> set[str]:
    return set().union(*seeds)
