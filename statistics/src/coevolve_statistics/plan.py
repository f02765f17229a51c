"""Power before the first cell: `PowerInput` in, `PowerOutput` out (src/statistics/run-statistics.ts)."""

from .levels import look_level
from .power import detectable, difference_sd, power, seeds_needed
from .reader import Reader
from .verdicts import Json


def plan_power(value: object) -> Json:
    root = Reader(value)
    alpha, looks = root.field("alpha").share(), [item.integer(2) for item in root.field("looks").items()]
    if len(looks) not in (1, 2) or looks != sorted(set(looks)):
        root.field("looks").refuse("one or two numbers of seeds, ascending")
    level = look_level(alpha, looks)
    differences = [item.share() for item in root.field("differences").items()]
    seeds = [item.integer(2) for item in root.field("seeds").items()]
    tasks, discordance = root.field("tasks").integer(1), root.field("discordance").number(0, 1)
    run_sds = [item.number(0, 1) for item in root.field("runSds").items()]
    rows = [(run_sd, difference_sd(run_sd, discordance, tasks)) for run_sd in run_sds]
    return {
        "level": level,
        "deviations": [_row(run_sd, sd, level, (seeds, differences)) for run_sd, sd in rows],
    }


def _row(run_sd: float, sd: float, level: float, grid: tuple[list[int], list[float]]) -> Json:
    seeds, differences = grid
    return {
        "runSd": run_sd,
        "sd": sd,
        "detectable": [{"seeds": count, "difference": detectable(sd, count, level)} for count in seeds],
        "needed": [
            {"difference": difference, "seeds": seeds_needed(difference, sd, level)}
            for difference in differences
        ],
        "power": [
            {"seeds": count, "difference": difference, "power": power(difference, sd, count, level)}
            for count in seeds
            for difference in differences
        ]
        if sd
        else [],
    }
