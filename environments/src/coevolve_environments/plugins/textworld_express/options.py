"""Options of the data routes, checked once: an unknown key or value is refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.option_checks import (
    Fold,
    boolean_option,
    held_out_folds,
    integer_in_range,
    refuse_unknown,
)
from coevolve_environments.plugins.textworld_express.games import GAMES, MAX_STEPS
from coevolve_environments.protocol import BadRequest, Split

DEFAULT_STEPS = 30


@dataclass(frozen=True)
class Options:
    games: tuple[str, ...] = tuple(GAMES)
    held_out: tuple[Fold, ...] = ("dev",)
    """What `held-out` is."""
    parameters: Mapping[str, Mapping[str, int]] = field(
        default_factory=lambda: {name: game.parameters for name, game in GAMES.items()}
    )
    """Of every game."""
    step_limit: int = DEFAULT_STEPS
    """A game whose gold path is longer gets as many actions as that has."""
    valid_actions: bool = False
    """Whether every observation lists what can be done."""

    def folds(self, split: Split) -> tuple[Fold, ...]:
        return ("train",) if split == "train" else self.held_out


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    return Options(
        _games(options.get("games")),
        held_out_folds(options),
        _parameters(options.get("parameters")),
        integer_in_range(options.get("step_limit", DEFAULT_STEPS), "options.step_limit", MAX_STEPS),
        boolean_option(options, "valid_actions", False),
    )


def read_parameters(game: str, value: object) -> dict[str, int]:
    """`numLocations=3,includeDoors=0` or a mapping, over the defaults of the game."""
    given = value if isinstance(value, dict) else _pairs(game, value)
    known = {*GAMES[game].parameters, *GAMES[game].known}
    for name, number in given.items():
        if name not in known:
            raise BadRequest(
                f"{game} has no parameter {name!r}; it has: {', '.join(sorted(known)) or 'none'}"
            )
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise BadRequest(f"{game}: `{name}` must be an integer from 0, got {number!r}")
    return {**GAMES[game].parameters, **given}


def _pairs(game: str, value: object) -> dict[str, int]:
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        raise BadRequest(f"the parameters of {game} must be like `numLocations=3`, got {value!r}")
    try:
        return {name.strip(): int(number) for name, number in (pair.split("=") for pair in value.split(","))}
    except ValueError:
        raise BadRequest(f"the parameters of {game} must be like `numLocations=3`, got {value!r}") from None


def _games(value: object) -> tuple[str, ...]:
    if value is None:
        return tuple(GAMES)
    if not isinstance(value, list) or not value:
        raise BadRequest(f"`options.games` must be a list of names or null, got {value!r}")
    for item in value:
        if item not in GAMES:
            raise BadRequest(f"`options.games` holds {item!r}; known: {', '.join(GAMES)}")
    return tuple(name for name in GAMES if name in value)


def _parameters(value: object) -> dict[str, dict[str, int]]:
    given = {} if value is None else value
    if not isinstance(given, dict) or not set(given) <= set(GAMES):
        raise BadRequest(f"`options.parameters` must map games to their parameters, got {value!r}")
    return {name: read_parameters(name, given.get(name)) for name in GAMES}
