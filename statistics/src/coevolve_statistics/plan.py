"""Power before the first cell: `PowerInput` in, `PowerOutput` out (src/statistics/plan-power.ts)."""

from .levels import look_level
from .power import detectable, difference_sd, power, sd_interval, seeds_needed
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
    return {
        "level": level,
        "deviations": [_row(sd, level, (seeds, differences)) for sd in _difference_sds(root.field("noise"))],
    }


def _difference_sds(noise: Reader) -> list[float]:
    """Deviations of a seed's difference: from those of runs, or a measured one and its 95 % interval."""
    if noise.field("kind").choice("prior", "measured") == "measured":
        sd = noise.field("sd").number(0, 1)
        return [sd, *sd_interval(sd, noise.field("seeds").integer(2))]
    tasks, discordance = noise.field("tasks").integer(1), noise.field("discordance").number(0, 1)
    run_sds = [item.number(0, 1) for item in noise.field("runSds").items()]
    return [difference_sd(run_sd, discordance, tasks) for run_sd in run_sds]


def _row(sd: float, level: float, grid: tuple[list[int], list[float]]) -> Json:
    seeds, differences = grid
    return {
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
