"""The value of the metric for each cell, and the learning curves behind an area."""

from collections.abc import Iterable

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
    return score.reward if metric.score == "reward" else score.success


def mean_score(experiment: Experiment, key: CellKey, checkpoint: int | None = None) -> float | None:
    """Mean over the tasks; None without scores."""
    scores = tasks_at(experiment, key, checkpoint).values()
    return mean([score_of(experiment.metric, score) for score in scores]) if scores else None


def values_of(
    experiment: Experiment, keys: Iterable[CellKey], metric: Metric | None = None
) -> dict[CellKey, float]:
    """Value of a metric by cell, by default the experiment's.

    An area is taken over the range of effort that all of these cells share.
    Cells without a value are left out.
    """
    share, measure = (metric or experiment.metric).share, (metric or experiment.metric).effort
    if measure is None:
        values = {
            key: experiment.cells[key].shares.get(share) if share else mean_score(experiment, key)
            for key in keys
        }
        return {key: value for key, value in values.items() if value is not None}
    curves = {key: points for key in keys if (points := _points(experiment, key, measure))}
    start = max((points[0][0] for points in curves.values()), default=0.0)
    end = min((points[-1][0] for points in curves.values()), default=0.0)
    return {key: area(points, start, end) for key, points in curves.items()} if start < end else {}


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
