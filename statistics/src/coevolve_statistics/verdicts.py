"""Tests every contrast and gives its verdict."""

from dataclasses import dataclass

from .checked import Json
from .contrast_statistics import Levels, Sample, statistics_of
from .experiment import CellKey, Contrast, Experiment
from .levels import holm
from .measured import task_values_of, values_of
from .paired import is_zero, paired_t, trimmed, trimmed_p
from .sums import deviation, mean
from .two_way import ByTask
from .validity import Problem, problems_of

#: Conventional level of an equivalence test, shared by the looks as alpha is.
EQUIVALENCE_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Tested:
    contrast: Contrast
    #: By seed; empty if the contrast is invalid.
    differences: dict[int, float]
    #: The same by task, in the order of the seeds; empty for a share of the pool.
    by_task: list[ByTask]
    problems: list[Problem]
    p: float | None

    @property
    def values(self) -> list[float]:
        return list(self.differences.values())

    @property
    def sd(self) -> float | None:
        return deviation(self.values) if len(self.values) > 1 else None


def test_contrast(experiment: Experiment, contrast: Contrast) -> Tested:
    problems = problems_of(experiment, contrast)
    if problems:
        return Tested(contrast, {}, [], problems, None)
    keys = [(arm, seed) for seed in experiment.seeds for arm in (contrast.plus, contrast.minus)]
    values = values_of(experiment, keys, experiment.metric_of(contrast))
    differences = {
        seed: values[(contrast.plus, seed)] - values[(contrast.minus, seed)] for seed in experiment.seeds
    }
    by_task = [] if contrast.share else _differences_by_task(experiment, contrast, keys)
    return Tested(contrast, differences, by_task, [], paired_t(list(differences.values())))


def _differences_by_task(experiment: Experiment, contrast: Contrast, keys: list[CellKey]) -> list[ByTask]:
    values = task_values_of(experiment, keys)
    return [
        {
            task: value - values[(contrast.minus, seed)][task]
            for task, value in values[(contrast.plus, seed)].items()
        }
        for seed in experiment.seeds
    ]


def contrast_results(experiment: Experiment) -> tuple[list[Tested], list[Json]]:
    """Tests the primary contrast by itself, and the secondary ones as a family (Holm)."""
    tested = [test_contrast(experiment, contrast) for contrast in experiment.contrasts]
    adjusted = _adjusted([each.p for each in tested])
    trimmed_ps = _adjusted([trimmed_p(each.values) for each in tested])
    level, equivalence_level = experiment.level(experiment.alpha), experiment.level(EQUIVALENCE_LEVEL)
    results = []
    for index, each in enumerate(tested):
        family = max(1, len(experiment.secondary)) if index else 1
        levels = Levels(level, equivalence_level, level / family)
        kind = "secondary" if index else "primary"
        sample = Sample(
            values=each.values,
            by_task=each.by_task,
            margin=experiment.margin,
            levels=levels,
            p=each.p,
            adjusted_p=adjusted[index],
            trimmed_p=trimmed_ps[index],
        )
        results.append({"kind": kind, **_result(experiment, each, sample)})
    return tested, results


def _adjusted(ps: list[float | None]) -> list[float | None]:
    """The primary p stays as it is; the others are a family."""
    return [ps[0], *holm(ps[1:])]


def _result(experiment: Experiment, tested: Tested, sample: Sample) -> Json:
    found = statistics_of(sample)
    verdict, reasons = _verdict(tested, sample, found["equivalenceP"])
    if verdict == "inconclusive" and sample.sd:
        reasons.append(_plan(sample))
    return {
        "contrast": tested.contrast.name,
        "plus": tested.contrast.plus,
        "minus": tested.contrast.minus,
        "differences": [{"seed": seed, "value": value} for seed, value in tested.differences.items()],
        "seeds": sample.seeds,
        **found,
        "verdict": verdict,
        "companion": _companion(sample) if experiment.companion == "trimmed" else None,
        "reasons": reasons,
    }


def _companion(sample: Sample) -> str | None:
    """Verdict of the trimmed mean; None for an invalid contrast, and below five seeds."""
    p, center = sample.trimmed_p, trimmed(sample.values)
    if p is None or center is None:
        return None
    if p >= sample.levels.test:
        return "inconclusive"
    return "better" if center > 0 else "worse"


def _verdict(tested: Tested, sample: Sample, equivalence_p: float | None) -> tuple[str, list[str]]:
    values, margin, levels, p = sample.values, sample.margin, sample.levels, sample.adjusted_p
    if tested.problems:
        return "invalid", [problem.text for problem in tested.problems]
    if len(values) == 1:
        return "inconclusive", ["one seed has no deviation: no test is possible"]
    if is_zero(values):
        return "equivalent", ["identical: the difference is 0 at every seed"]
    if p is None or equivalence_p is None:
        return "inconclusive", [
            f"the difference is {mean(values):.4g} at every seed: without deviation there is no p"
        ]
    equivalent = equivalence_p < levels.equivalence
    if p < levels.test:
        small = [f"the difference is significant and lies within the margin of {margin:g}"]
        return "better" if mean(values) > 0 else "worse", small if equivalent else []
    if equivalent:
        return "equivalent", []
    return "inconclusive", [
        f"no difference shown (adjusted p {p:.3g}, level {levels.test:.3g}), nor equivalence within"
        f" {margin:g} (p {equivalence_p:.3g}, level {levels.equivalence:.3g})"
    ]


def _plan(sample: Sample) -> str:
    found = sample.detectable()
    detects = "nothing" if found is None else f"a difference of {found:.3g}"
    return (
        f"{sample.seeds} seeds detect {detects} with 80 % power; a difference of {sample.margin:g}"
        f" needs {sample.seeds_needed() or 'more than 10,000'} seeds"
    )
