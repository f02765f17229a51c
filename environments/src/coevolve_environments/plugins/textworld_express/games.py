"""The eight games: commands, default parameters of the generator, and folds of seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from coevolve_environments.plugins.validation import Fold

SEEDS: Mapping[Fold, range] = {
    "train": range(0, 1_000),
    "dev": range(10_000, 11_000),
    "test": range(20_000, 21_000),
}
"""The package's folds. Games of different folds have different objects if possible."""
MAX_STEPS = 100


@dataclass(frozen=True)
class Game:
    name: str
    forms: str
    """Forms of its commands."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Default parameters of the generator: a few rooms, a gold path of 5 to 15 actions. With the package's
    own defaults cookingworld takes 46 actions."""
    optional: tuple[str, ...] = ()
    """Other parameters."""
    size: str | None = None
    """The parameter that determines the difficulty."""
    max_size: int = 0
    """The package's maximum of `size`."""


_ROOMS = "look around, inventory, move DIRECTION, open door to DIRECTION, close door to DIRECTION"
_THINGS = "take THING, put THING in PLACE, open PLACE, close PLACE"

GAMES = {
    game.name: game
    for game in (
        Game(
            "cookingworld",
            f"{_ROOMS}, {_THINGS}, read cookbook, chop THING, dice THING, slice THING, "
            "cook THING in APPLIANCE, prepare meal, eat meal",
            {"numLocations": 1, "numIngredients": 2, "numDistractorItems": 5, "includeDoors": 0},
            ("limitInventorySize",),
            "numIngredients",
            5,
        ),
        Game(
            "twc",
            f"{_ROOMS}, {_THINGS}",
            {"numLocations": 1, "numItemsToPutAway": 2, "includeDoors": 0},
            ("limitInventorySize",),
            "numItemsToPutAway",
            10,
        ),
        Game(
            "coin",
            f"{_ROOMS}, take coin, open PLACE, close PLACE",
            {"numLocations": 7, "numDistractorItems": 0, "includeDoors": 0},
            ("limitInventorySize",),
            "numLocations",
            11,
        ),
        Game(
            "mapreader",
            f"{_ROOMS}, read map, task, take coin, put coin in box",
            {"numLocations": 8, "maxDistanceApart": 3, "includeDoors": 0},
            ("maxDistractorItemsPerLocation", "limitInventorySize"),
            "maxDistanceApart",
            8,
        ),
        Game("arithmetic", f"{_ROOMS}, take THING, read math problem, put THING in box"),
        Game("sorting", "look around, inventory, take THING, put THING in box"),
        Game(
            "simonsays",
            "what Simon says",
            {"gameLength": 5, "numDistractors": 3},
            ("memorization", "verbose"),
            "gameLength",
            20,
        ),
        Game("peckingorder", "look around, inventory, read instructions book, take THING"),
    )
}


def fold_of(seed: int) -> Fold | None:
    return next((fold for fold, seeds in SEEDS.items() if seed in seeds), None)
