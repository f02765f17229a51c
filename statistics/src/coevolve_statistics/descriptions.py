"""Figures that describe and test nothing: arms, learning curves, categories, tasks won and lost."""

from scipy import stats

from .checked import Json
from .experiment import CellKey, Experiment
from .measured import mean_score, score_of, tasks_at, values_of
from .paired import t_interval
from .proportions import mcnemar
from .sums import TOLERANCE, deviation, mean
from .verdicts import Tested

#: Level of every descriptive interval.
LEVEL = 0.05


def arm_rows(experiment: Experiment) -> list[Json]:
    """An area is taken over the effort that all arms share, or the two arms of a contrast."""
    keys = [(arm, seed) for arm in experiment.arms for seed in experiment.seeds]
    values = values_of(experiment, keys)
    return [
        _arm_row(experiment, arm, {key[1]: values[key] for key in keys if key[0] == arm and key in values})
        for arm in experiment.arms
    ]


def _arm_row(experiment: Experiment, arm: str, by_seed: dict[int, float]) -> Json:
    values = sorted(by_seed.values())
    low, high = (t_interval(values, LEVEL) if values else None) or (None, None)
    return {
        "arm": arm,
        "seeds": len(values),
        "tasks": min((len(tasks_at(experiment, (arm, seed))) for seed in by_seed), default=0),
        "values": [{"seed": seed, "value": value} for seed, value in by_seed.items()],
        "mean": mean(values) if values else None,
        "sd": deviation(values) if len(values) > 1 else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "iqm": iqm(values) if values else None,
        "low": low,
        "high": high,
        "collapsed": [seed for seed in by_seed if _collapsed(experiment, (arm, seed))],
    }


def _collapsed(experiment: Experiment, key: CellKey) -> bool:
    """Whether a policy ends below half of what its cell began with, by more than the margin."""
    cell = experiment.cells[key]
    start, end = (
        mean_score(experiment, key, checkpoint) for checkpoint in (next(iter(cell.effort)), cell.last)
    )
    return start is not None and end is not None and end < start / 2 and start - end > experiment.margin


def iqm(values: list[float]) -> float:
    """Mean without floor(S / 4) seeds at each end."""
    return float(stats.trim_mean(sorted(values), 0.25))


def curve_rows(experiment: Experiment) -> list[Json]:
    """Only the checkpoints that every finished cell of an arm has: each point is a mean of the same seeds."""
    rows = []
    for arm in experiment.arms:
        keys = [(arm, seed) for seed in experiment.seeds if tasks_at(experiment, (arm, seed))]
        for checkpoint in experiment.cells[keys[0]].effort if keys else []:
            values = [value for key in keys if (value := mean_score(experiment, key, checkpoint)) is not None]
            if len(values) == len(keys):
                rows.append(_curve_row(experiment, keys, checkpoint, values))
    return rows


def _curve_row(experiment: Experiment, keys: list[CellKey], checkpoint: int, values: list[float]) -> Json:
    low, high = t_interval(values, LEVEL) or (None, None)
    return {
        "arm": keys[0][0],
        "checkpoint": checkpoint,
        "mean": mean(values),
        "low": low,
        "high": high,
    }


def breakdown_rows(experiment: Experiment, tested: list[Tested]) -> list[Json]:
    """The difference within each category: per seed, then over the seeds that have the category."""
    return [
        _breakdown_row(experiment, each, feature, value)
        for each in tested
        if each.differences and not each.contrast.share
        for feature in experiment.breakdown
        for value in _categories(experiment, each, feature)
    ]


def _categories(experiment: Experiment, tested: Tested, feature: str) -> list[str]:
    keys = [(tested.contrast.plus, seed) for seed in tested.differences]
    scores = [score for key in keys for score in tasks_at(experiment, key).values()]
    return sorted({score.features[feature] for score in scores if feature in score.features})


def _breakdown_row(experiment: Experiment, tested: Tested, feature: str, value: str) -> Json:
    metric, differences, every_task = experiment.metric, [], set()
    for seed in tested.differences:
        plus = tasks_at(experiment, (tested.contrast.plus, seed))
        minus = tasks_at(experiment, (tested.contrast.minus, seed))
        tasks = [task for task, score in plus.items() if score.features.get(feature) == value]
        every_task.update(tasks)
        if tasks:
            changes = [score_of(metric, plus[task]) - score_of(metric, minus[task]) for task in tasks]
            differences.append(mean(changes))
    low, high = t_interval(differences, LEVEL) or (None, None)
    return {
        "contrast": tested.contrast.name,
        "feature": feature,
        "value": value,
        "tasks": len(every_task),
        "difference": mean(differences),
        "low": low,
        "high": high,
    }


def won_and_lost_rows(experiment: Experiment, tested: list[Tested]) -> list[Json]:
    """Tasks that `plus` alone solves, and `minus` alone. p concerns these checkpoints, not the methods."""
    return [
        _won_and_lost(experiment, each, seed)
        for each in tested
        if not each.contrast.share
        for seed in each.differences
    ]


def _won_and_lost(experiment: Experiment, tested: Tested, seed: int) -> Json:
    plus = tasks_at(experiment, (tested.contrast.plus, seed))
    minus = tasks_at(experiment, (tested.contrast.minus, seed))
    changes = [score.success - minus[task].success for task, score in plus.items()]
    won, lost = sum(change > TOLERANCE for change in changes), sum(change < -TOLERANCE for change in changes)
    return {
        "contrast": tested.contrast.name,
        "seed": seed,
        "won": won,
        "lost": lost,
        "p": mcnemar(won, lost),
    }
