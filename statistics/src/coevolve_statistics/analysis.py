"""An analysis, as analysis-input.ts and analysis-output.ts of src/statistics declare its input and output."""

from .checked import ANALYSIS_VERSION, Json
from .descriptions import arm_rows, breakdown_rows, curve_rows, won_and_lost_rows
from .experiment import Contrast, Experiment, read_experiment
from .ordering import order_result
from .power import conditional_power, power
from .table_rules import alike_rows, broken_rows, replica_rows
from .validity import effort_checks
from .verdicts import Tested, contrast_results

#: Points of the power curve: up to twice the margin.
POWER_STEPS = 20


def analyze(value: object) -> Json:
    """At a look that was not declared the output has completeness and effort, and no score."""
    experiment = read_experiment(value)
    tested, contrasts = contrast_results(experiment)
    declared = experiment.look in experiment.looks
    return {
        "version": ANALYSIS_VERSION,
        "look": experiment.look,
        "arms": arm_rows(experiment) if declared else [],
        "contrasts": contrasts,
        "level": experiment.level(experiment.alpha),
        "broken": broken_rows(experiment, tested),
        "replicas": replica_rows(experiment) if declared else [],
        "alike": alike_rows(experiment) if declared else [],
        "effort": [row for contrast in experiment.contrasts for row in _effort_rows(experiment, contrast)],
        "ordering": order_result(experiment),
        "breakdown": breakdown_rows(experiment, tested),
        "curves": curve_rows(experiment) if declared else [],
        "power": _power_rows(experiment, tested[0]),
        "conditionalPower": _conditional_power(experiment, tested[0]),
        "wonAndLost": won_and_lost_rows(experiment, tested),
    }


def _effort_rows(experiment: Experiment, contrast: Contrast) -> list[Json]:
    return [
        {
            "contrast": check.contrast,
            "measure": check.measure,
            "rule": check.rule,
            "allowed": check.allowed,
            "found": check.found,
            "holds": check.holds,
        }
        for check in effort_checks(experiment, contrast)
    ]


def _power_rows(experiment: Experiment, primary: Tested) -> list[Json]:
    """Power for differences chosen beforehand, never for the observed one, whose power only repeats its p."""
    sd, level = primary.sd, experiment.level(experiment.alpha)
    if not sd:
        return []
    differences = [2 * experiment.margin * step / POWER_STEPS for step in range(1, POWER_STEPS + 1)]
    sizes = sorted({experiment.look, *experiment.looks, 2 * experiment.looks[-1]})
    return [
        {"difference": difference, "seeds": seeds, "power": power(difference, sd, seeds, level)}
        for seeds in sizes
        if seeds > 1
        for difference in differences
    ]


def _conditional_power(experiment: Experiment, primary: Tested) -> float | None:
    if len(experiment.looks) != 2 or experiment.look != experiment.looks[0] or not primary.sd:
        return None
    level = experiment.level(experiment.alpha)
    return conditional_power(primary.values, primary.sd, experiment.looks[1], level)
