"""The rules that make two arms comparable. A broken one makes their contrast invalid."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from .experiment import CellKey, Contrast, Experiment
from .measured import values_of

#: Amounts in dollars are sums of binary fractions.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Problem:
    #: Name of the broken rule: one of `rules` in src/statistics/analysis-output.ts.
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class EffortCheck:
    contrast: str
    measure: str
    rule: str
    allowed: float
    #: Largest difference over the seeds, relative to the larger amount.
    found: float
    seed: int
    recorded: bool

    @property
    def holds(self) -> bool:
        return self.recorded and self.found <= self.allowed + ROUNDING


def effort_checks(experiment: Experiment, contrast: Contrast) -> list[EffortCheck]:
    """Checks every rule on the nominal effort of whole cells, over the seeds that both arms have finished."""
    rules = [(measure, "equal", 0.0) for measure in experiment.equal]
    rules += [(measure, "within", allowed) for measure, allowed in experiment.within.items()]
    pairs = {seed: pair for seed in experiment.seeds if (pair := _pair(experiment, contrast, seed))}
    checks = []
    for measure, rule, allowed in rules if pairs else []:
        found = [(_difference(a.get(measure), b.get(measure)), -seed) for seed, (a, b) in pairs.items()]
        recorded = all(measure in amounts for pair in pairs.values() for amounts in pair)
        largest, seed = max(found)
        checks.append(EffortCheck(contrast.name, measure, rule, allowed, largest, -seed, recorded))
    return checks


def _pair(
    experiment: Experiment, contrast: Contrast, seed: int
) -> tuple[dict[str, float], dict[str, float]] | None:
    plus, minus = (experiment.cells.get((arm, seed)) for arm in (contrast.plus, contrast.minus))
    if not (plus and minus and plus.finished and minus.finished):
        return None
    return plus.effort[plus.last], minus.effort[minus.last]


def _difference(a: float | None, b: float | None) -> float:
    """Relative to the larger. An amount without a record cannot be shown to be equal."""
    if a is None or b is None:
        return 1.0
    return abs(a - b) / max(a, b) if max(a, b) > 0 else 0.0


def problems_of(experiment: Experiment, contrast: Contrast) -> list[Problem]:
    """Returns every broken rule with a sentence; empty: the arms can be compared."""
    problems = []
    if experiment.look not in experiment.looks:
        declared = " and ".join(map(str, experiment.looks))
        problems.append(
            Problem("declared look", f"{experiment.look} seeds are no declared look; declared: {declared}")
        )
    keys = [(arm, seed) for seed in experiment.seeds for arm in (contrast.plus, contrast.minus)]
    problems += [problem for key in keys for problem in problems_of_cell(experiment, key)]
    if not problems:
        problems += [
            Problem("equal tests", text)
            for seed in experiment.seeds
            for text in _other_tests(experiment, contrast, seed)
        ]
        values = values_of(experiment, keys, experiment.metric_of(contrast))
        if len(values) < len(keys):
            missing = next(key for key in keys if key not in values)
            text = _without_share(contrast, missing) or _without_values(experiment, missing, values)
            problems.append(Problem("complete", text))
    checks = effort_checks(experiment, contrast)
    return problems + [Problem("matched", _breach(check)) for check in checks if not check.holds]


def problems_of_cell(experiment: Experiment, key: CellKey) -> list[Problem]:
    """Returns the rules that a cell breaks whatever it is compared with."""
    name, cell = f"cell {key[0]}-s{key[1]}", experiment.cells.get(key)
    if cell is None:
        return [Problem("complete", f"{name} is missing: it has not been played")]
    if not cell.finished:
        return [Problem("complete", f"{name} is missing: {cell.reason or 'no reason recorded'}")]
    problems = []
    if cell.leaked_tasks:
        leak = f"{name}: {cell.leaked_tasks} test tasks are also train tasks (leak)"
        problems.append(Problem("test set unseen", leak))
    if cell.copy_of:
        problems.append(
            Problem("distinct cells", f"{name} has the content hash of {cell.copy_of}: one is a copy")
        )
    scores = experiment.scores.get(key, {})
    if not scores.get(cell.last):
        problems.append(Problem("complete", f"{name} has no scores at its last checkpoint, {cell.last}"))
    strange = [checkpoint for checkpoint, tasks in scores.items() if hash_of_tests(tasks) != cell.test_hash]
    if strange:
        other = f"{name}: its scores at checkpoint {strange[0]} are not those of its test set (testHash)"
        problems.append(Problem("whole tests", other))
    return problems


def hash_of_tests(tasks: Iterable[str]) -> str:
    """Hash of a test set by the keys of its tasks, as src/store/experiment/cell-manifest.ts makes it."""
    return hashlib.sha256("\n".join(sorted(tasks)).encode()).hexdigest()


def _other_tests(experiment: Experiment, contrast: Contrast, seed: int) -> list[str]:
    """Both cells were scored on their whole test sets, so that equal hashes are equal tasks."""
    if experiment.cells[contrast.plus, seed].test_hash == experiment.cells[contrast.minus, seed].test_hash:
        return []
    return [f"seed {seed}: {contrast.plus} and {contrast.minus} have different test sets (testHash)"]


def _without_share(contrast: Contrast, key: CellKey) -> str | None:
    return (
        contrast.share
        and f"cell {key[0]}-s{key[1]}: it has no tasks for {contrast.share}, or did not count them"
    )


def _without_values(experiment: Experiment, missing: CellKey, values: dict[CellKey, float]) -> str:
    if (measure := experiment.metric.effort) and not values:
        return f"the learning curves share no range of {measure}, or lack it"
    arm, seed = missing
    if where := experiment.metric.where:
        return f"seed {seed}: no test task has {where[0]}={where[1]}"
    if k := experiment.metric.passed:
        return f"cell {arm}-s{seed}: a test task has fewer than {k} scored attempts, which pass@{k} needs"
    return f"cell {arm}-s{seed}: a checkpoint lacks scores or its {experiment.metric.effort}"


def _breach(check: EffortCheck) -> str:
    if not check.recorded:
        return f"effort: {check.measure} is not recorded for every cell, so that its rule cannot be checked"
    return (
        f"effort: {check.measure} differs by {check.found:.2%} at seed {check.seed},"
        f" allowed {check.allowed:.2%} ({check.rule})"
    )
