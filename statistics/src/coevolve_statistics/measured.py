"""The value of the metric for each cell, and the learning curves behind an area."""

import math
from collections.abc import Iterable, Sequence

from .experiment import CellKey, Experiment, Metric, Score
from .sums import mean
from .trend import area


def tasks_at(experiment: Experiment, key: CellKey, checkpoint: int | None = None) -> dict[str, Score]:
    """Scores by task at a checkpoint, or at the last one; only the tasks that the metric selects."""
    cell = experiment.cells.get(key)
    if cell is None or not cell.finished:
        return {}
    found = experiment.scores.get(key, {}).get(cell.last if checkpoint is None else checkpoint, {})
    where = experiment.metric.where
    if where is None:
        return found
    feature, value = where
    return {task: score for task, score in found.items() if score.features.get(feature) == value}


def score_of(metric: Metric, score: Score) -> float:
    if metric.passed is not None:
        return pass_at(score.attempts, round(score.success * score.attempts), metric.passed)
    return score.reward if metric.score == "reward" else score.success


def pass_at(attempts: int, solved: int, k: int) -> float:
    """Unbiased pass@k, 1 - C(n - c, k) / C(n, k), of a task: Chen et al. 2021, arXiv:2107.03374, equation 1.

    k is at most the number of attempts.
    """
    return 1 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def mean_score(experiment: Experiment, key: CellKey, checkpoint: int | None = None) -> float | None:
    """Mean over the tasks; None without scores, or if a task has fewer attempts than the k of pass@k."""
    scores, metric = tasks_at(experiment, key, checkpoint).values(), experiment.metric
    if not scores or any(score.attempts < (metric.passed or 0) for score in scores):
        return None
    return mean([score_of(metric, score) for score in scores])


def values_of(
    experiment: Experiment, keys: Iterable[CellKey], metric: Metric | None = None
) -> dict[CellKey, float]:
    """Value of a metric by cell, by default the experiment's.

    An area is taken over the range of effort that all of these cells share.
    Cells without a value are left out.
    """
    chosen = metric or experiment.metric
    share, measure = chosen.share, chosen.effort
    if measure is None:
        values = {
            key: experiment.cells[key].shares.get(share) if share else mean_score(experiment, key)
            for key in keys
        }
        return {key: value for key, value in values.items() if value is not None}
    curves = {key: points for key in keys if (points := _points(experiment, key, measure))}
    start, end = _shared_range([[x for x, _ in points] for points in curves.values()])
    return {key: area(points, start, end) for key, points in curves.items()} if start < end else {}


def task_values_of(experiment: Experiment, keys: Iterable[CellKey]) -> dict[CellKey, dict[str, float]]:
    """Value of the metric by cell and task, whose mean is the value of the cell.

    The contrast is valid, so that all cells have their scores and share a range of effort.
    """
    measure = experiment.metric.effort
    if measure is None:
        return {
            key: {
                task: score_of(experiment.metric, score) for task, score in tasks_at(experiment, key).items()
            }
            for key in keys
        }
    amounts = {key: [at[measure] for at in experiment.cells[key].effort.values()] for key in keys}
    start, end = _shared_range(amounts.values())
    return {key: _task_areas(experiment, key, xs, (start, end)) for key, xs in amounts.items()}


def _task_areas(
    experiment: Experiment, key: CellKey, amounts: Sequence[float], bounds: tuple[float, float]
) -> dict[str, float]:
    """The area of a mean of curves is the mean of their areas."""
    scores = [tasks_at(experiment, key, checkpoint) for checkpoint in experiment.cells[key].effort]
    return {
        task: area([(x, at[task].success) for x, at in zip(amounts, scores, strict=True)], *bounds)
        for task in scores[-1]
    }


def _shared_range(amounts: Iterable[Sequence[float]]) -> tuple[float, float]:
    """The range of effort that all curves share; empty without one."""
    every = list(amounts)
    return max((xs[0] for xs in every), default=0.0), min((xs[-1] for xs in every), default=0.0)


def _points(experiment: Experiment, key: CellKey, measure: str) -> list[tuple[float, float]]:
    """The learning curve of a cell, with an x for every y; empty if a checkpoint lacks either."""
    cell = experiment.cells.get(key)
    if cell is None or not cell.finished:
        return []
    points = [
        (amounts[measure], value)
        for checkpoint, amounts in cell.effort.items()
        if measure in amounts and (value := mean_score(experiment, key, checkpoint)) is not None
    ]
    return points if len(points) == len(cell.effort) else []
