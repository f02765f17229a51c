"""Power before the first cell: `PowerInput` in, `PowerOutput` out (src/statistics/plan-power.ts)."""

from .checked import Json, checked
from .experiment import read_looks
from .levels import look_level
from .power import detectable, difference_sd, equivalence_power, power, sd_interval, seeds_needed
from .verdicts import EQUIVALENCE_LEVEL


def plan_power(value: object) -> Json:
    root = checked(value, "power")
    looks = read_looks(root["looks"])
    level, equivalence_level = look_level(root["alpha"], looks), look_level(EQUIVALENCE_LEVEL, looks)
    grid = (root["seeds"], root["differences"])

    def equivalence(sd: float) -> list[Json]:
        return [
            {"seeds": seeds, "power": equivalence_power(root["margin"], sd, seeds, equivalence_level)}
            for seeds in root["seeds"]
        ]

    sds = _difference_sds(root["noise"])
    return {
        "level": level,
        "deviations": [{**_row(sd, level, grid), "equivalence": equivalence(sd)} for sd in sds],
    }


def _difference_sds(noise: Json) -> list[float]:
    """Deviations of a seed's difference: from deviations of runs, or a measured one and its 95 % interval."""
    if noise["kind"] == "measured":
        return [noise["sd"], *sd_interval(noise["sd"], noise["seeds"])]
    return [difference_sd(run_sd, noise["discordance"], noise["tasks"]) for run_sd in noise["runSds"]]


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
