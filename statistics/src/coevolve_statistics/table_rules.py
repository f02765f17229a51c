"""Rules that a table is checked by: broken ones, replicas that differ, cells whose scores are all equal."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from .checked import Json
from .experiment import CellKey, Contrast, Experiment
from .measured import tasks_at
from .sums import mean
from .validity import Problem, problems_of_cell
from .verdicts import Tested, test_contrast


def broken_rows(experiment: Experiment, tested: Sequence[Tested]) -> list[Json]:
    """Every broken rule: of contrasts, which are invalid by it, and of cells that no contrast compares."""
    compared = {arm for each in tested for arm in (each.contrast.plus, each.contrast.minus)}
    others = [(arm, seed) for seed in experiment.seeds for arm in experiment.arms if arm not in compared]
    return [
        *(row for each in tested for row in _broken(each.problems, each.contrast.name)),
        *(row for key in others for row in _broken(problems_of_cell(experiment, key), None)),
    ]


def _broken(problems: Iterable[Problem], contrast: str | None) -> list[Json]:
    return [{"rule": problem.rule, "contrast": contrast, "finding": problem.text} for problem in problems]


def replica_rows(experiment: Experiment) -> list[Json]:
    """Arms that repeat another one, against it. A difference is one of the apparatus, or chance."""
    rows = []
    for arm, original in experiment.replicas.items():
        tested = test_contrast(experiment, Contrast(f"{arm} - {original}", arm, original))
        if tested.p is not None:
            differs = tested.p < experiment.level(experiment.alpha)
            difference = mean(tested.values)
            rows.append(
                {"arm": arm, "of": original, "difference": difference, "p": tested.p, "differs": differs}
            )
    return rows


def alike_rows(experiment: Experiment) -> list[Json]:
    """Pairs of cells that score every task alike: two arms at a seed, or two seeds of an arm.

    Where no task or every task is solved, equal scores show nothing, and the pair is left out.
    """
    vectors = {key: _vector(experiment, key) for key in _cells(experiment)}
    mixed = {key: vector for key, vector in vectors.items() if len({score for _, score in vector}) > 1}
    return [
        {"arm": one[0], "seed": one[1], "otherArm": other[0], "otherSeed": other[1], "tasks": len(mixed[one])}
        for one, other in combinations(mixed, 2)
        if mixed[one] == mixed[other]
    ]


def _cells(experiment: Experiment) -> list[CellKey]:
    return [(arm, seed) for arm in experiment.arms for seed in experiment.seeds]


def _vector(experiment: Experiment, key: CellKey) -> list[tuple[str, tuple[float, float]]]:
    """Scores of the last checkpoint by task."""
    return sorted((task, (found.reward, found.success)) for task, found in tasks_at(experiment, key).items())
