"""The statistics of a contrast, each under the key of its column in src/statistics/contrast-columns.ts."""

from collections.abc import Callable
from dataclasses import dataclass

from .paired import effect_size, equivalence, sign_flip, t_interval, trimmed, typical, wins
from .power import detectable, seeds_needed
from .proportions import wilson
from .sums import TOLERANCE, deviation, mean
from .two_way import ByTask, shared_tasks, two_way_error, two_way_interval


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of this look: of the tests, of equivalence, and of the strictest step of Holm's correction."""

    test: float
    equivalence: float
    strictest: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything that the statistics of a contrast read."""

    #: Differences of the metric, one per seed; at least one.
    values: list[float]
    #: The same by task: the mean of each is the value of its seed. Empty for a share of the pool.
    by_task: list[ByTask]
    margin: float
    levels: Levels
    #: p of the paired t test, and the same after Holm's correction.
    p: float | None
    adjusted_p: float | None
    #: Adjusted p of the trimmed mean.
    trimmed_p: float | None

    @property
    def seeds(self) -> int:
        return len(self.values)

    @property
    def sd(self) -> float | None:
        return deviation(self.values) if len(self.values) > 1 else None

    def interval(self, level: float) -> tuple[float, float] | tuple[None, None]:
        return t_interval(self.values, level) or (None, None)

    def two_way_interval(self) -> tuple[float, float] | tuple[None, None]:
        found = two_way_interval(self.by_task, self.levels.test) if self.by_task else None
        return found or (None, None)

    def detectable(self) -> float | None:
        return detectable(self.sd, self.seeds, self.levels.strictest) if self.sd else None

    def seeds_needed(self) -> int | None:
        return seeds_needed(self.margin, self.sd, self.levels.strictest) if self.sd else None


def changed(seeds: list[ByTask]) -> float | None:
    """Share of the tasks that the two arms answer differently: mean over the seeds, from 0 to 1."""
    shares = [mean([float(abs(value) > TOLERANCE) for value in tasks.values()]) for tasks in seeds]
    return mean(shares) if shares else None


#: A statistic that the sample does not allow is None.
STATISTICS: dict[str, Callable[[Sample], float | None]] = {
    "difference": lambda sample: mean(sample.values),
    "sd": lambda sample: sample.sd,
    "low": lambda sample: sample.interval(sample.levels.test)[0],
    "high": lambda sample: sample.interval(sample.levels.test)[1],
    "twoWayLow": lambda sample: sample.two_way_interval()[0],
    "twoWayHigh": lambda sample: sample.two_way_interval()[1],
    "twoWayError": lambda sample: two_way_error(sample.by_task),
    "sharedTasks": lambda sample: shared_tasks(sample.by_task),
    "low90": lambda sample: sample.interval(2 * sample.levels.equivalence)[0],
    "high90": lambda sample: sample.interval(2 * sample.levels.equivalence)[1],
    "p": lambda sample: sample.p,
    "adjustedP": lambda sample: sample.adjusted_p,
    "signFlipP": lambda sample: sign_flip(sample.values),
    "equivalenceP": lambda sample: equivalence(sample.values, sample.margin),
    "changed": lambda sample: changed(sample.by_task),
    "typical": lambda sample: typical(sample.values),
    "trimmed": lambda sample: trimmed(sample.values),
    "trimmedP": lambda sample: sample.trimmed_p,
    "effectSize": lambda sample: effect_size(sample.values),
    "probability": lambda sample: wins(sample.values) / sample.seeds,
    "probabilityLow": lambda sample: wilson(wins(sample.values), sample.seeds)[0],
    "probabilityHigh": lambda sample: wilson(wins(sample.values), sample.seeds)[1],
    "detectable": Sample.detectable,
    "seedsNeeded": Sample.seeds_needed,
}


def statistics_of(sample: Sample) -> dict[str, float | None]:
    """Returns every statistic; without any value all are None."""
    return {key: compute(sample) if sample.values else None for key, compute in STATISTICS.items()}
