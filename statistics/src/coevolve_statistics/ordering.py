"""An expected order of arms: the chain of adjacent contrasts, and Page's trend."""

from itertools import pairwise

from .checked import Json
from .experiment import Contrast, Experiment
from .measured import values_of
from .sums import mean
from .trend import page
from .verdicts import test_contrast


def order_result(experiment: Experiment) -> Json | None:
    """The chain stands if every step is significant upwards: an intersection-union test, uncorrected."""
    arms = experiment.ordering
    if arms is None:
        return None
    level = experiment.level(experiment.alpha)
    steps = [test_contrast(experiment, Contrast(f"{up} - {down}", up, down)) for down, up in pairwise(arms)]
    chain = bool(steps) and all(
        step.p is not None and step.p < level and mean(step.values) > 0 for step in steps
    )
    return {
        "arms": arms,
        "adjacent": [{"contrast": step.contrast.name, "p": step.p} for step in steps],
        "chain": chain,
        "page": None if any(step.problems for step in steps) else _page(experiment, arms),
    }


def _page(experiment: Experiment, arms: list[str]) -> Json | None:
    values = values_of(experiment, [(arm, seed) for arm in arms for seed in experiment.seeds])
    if len(values) < len(arms) * len(experiment.seeds):
        return None
    found = page([[values[(arm, seed)] for arm in arms] for seed in experiment.seeds])
    return {"statistic": found[0], "p": found[1]} if found else None
