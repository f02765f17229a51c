"""Options of the data routes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.textworld_express.games import GAMES, MAX_STEPS
from coevolve_environments.plugins.validation import (
    Fold,
    boolean_option,
    held_out_folds,
    integer_in_range,
    names_option,
    refuse_unknown,
)
from coevolve_environments.protocol import BadRequest, Split

DEFAULT_STEPS = 30


@dataclass(frozen=True)
class Options:
    games: tuple[str, ...] = tuple(GAMES)
    held_out: tuple[Fold, ...] = ("dev",)
    """Folds of the held-out split."""
    parameters: Mapping[str, Mapping[str, int]] = field(
        default_factory=lambda: {name: game.parameters for name, game in GAMES.items()}
    )
    """Parameters of the generator by game."""
    max_turns: int = DEFAULT_STEPS
    """Maximum number of actions; a game with a longer gold path gets the length of the path."""
    valid_actions: bool = False
    """Lists the valid actions in every observation."""

    def folds(self, split: Split) -> tuple[Fold, ...]:
        return ("train",) if split == "train" else self.held_out


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    return Options(
        names_option(options, "games", GAMES) or tuple(GAMES),
        held_out_folds(options),
        _parameters(options.get("parameters")),
        integer_in_range(options.get("max_turns", DEFAULT_STEPS), "options.max_turns", MAX_STEPS),
        boolean_option(options, "valid_actions", False),
    )


def read_parameters(game: str, value: object) -> dict[str, int]:
    """Reads `numLocations=3,includeDoors=0` or a mapping; the game's defaults fill missing parameters."""
    given = value if isinstance(value, dict) else _pairs(game, value)
    known = {*GAMES[game].parameters, *GAMES[game].optional}
    for name, number in given.items():
        if name not in known:
            raise BadRequest(
                f"unknown parameter {name!r} of {game}; known: {', '.join(sorted(known)) or 'none'}"
            )
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise BadRequest(f"parameter `{name}` of {game} must be an integer >= 0, got {number!r}")
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


def _parameters(value: object) -> dict[str, dict[str, int]]:
    given = {} if value is None else value
    if not isinstance(given, dict) or not set(given) <= set(GAMES):
        raise BadRequest(f"`options.parameters` must map games to parameters, got {value!r}")
    return {name: read_parameters(name, given.get(name)) for name in GAMES}
