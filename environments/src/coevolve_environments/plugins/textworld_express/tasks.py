"""Builds the task that the service stores from a game, its parameters and a seed."""

from hashlib import sha256
from typing import NamedTuple

from coevolve_environments.plugins.option_checks import Fold
from coevolve_environments.plugins.textworld_express.games import GAMES, MAX_STEPS, fold_of
from coevolve_environments.plugins.textworld_express.options import DEFAULT_STEPS, Options, read_parameters
from coevolve_environments.protocol import BadRequest, Json, Split, TaskRecord

NAME = "textworld-express"
_DIFFICULTY = (5, 10, 15, 25)
"""Longest gold paths of difficulty 1 to 4; 5 is longer."""


class GeneratedGame(NamedTuple):
    """What the generator makes one game of."""

    game: str
    parameters: str
    """Sorted, `name=value` joined by commas."""
    seed: int

    @property
    def key(self) -> str:
        return sha256(f"{NAME}/{self.game}/{self.parameters}/{self.seed}".encode()).hexdigest()

    @property
    def fold(self) -> Fold:
        return fold_of(self.seed) or "train"

    def arguments(self) -> Json:
        return {**self._asdict(), "fold": self.fold}


class Gold(NamedTuple):
    description: str
    actions: list[str]


def make_record(generated: GeneratedGame, options: Options, gold: Gold | None = None) -> TaskRecord:
    """
    Args:
        gold: None where only the game is to be listed, without its goal and reference actions.
    """
    game, parameters, seed = generated
    split: Split = "train" if generated.fold == "train" else "held-out"
    length = len(gold.actions) if gold else 0
    changed = "" if parameters == written(GAMES[game].parameters) else f"-{generated.key[:8]}"
    task_id = f"{NAME}/{game}/{seed:05}{changed}"
    definition = {
        "task_id": task_id,
        "split": split,
        "game": game,
        "parameters": parameters,
        "seed": seed,
        "step_limit": max(options.step_limit, length),
        "valid_actions": options.valid_actions,
    }
    features = {"pattern": game, "group": game, "difficulty": difficulty_of(length), "fold": generated.fold}
    goal = gold.description if gold else f"{game}, seed {seed}"
    actions = list(gold.actions) if gold else []
    return TaskRecord(task_id, split, goal, definition, features, generated.key, actions)


def difficulty_of(gold_length: int) -> int:
    """1 (short) to 5."""
    return 1 + sum(gold_length > longest for longest in _DIFFICULTY)


def written(parameters: object) -> str:
    assert isinstance(parameters, dict)
    return ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))


def generated_of(definition: Json) -> GeneratedGame:
    """
    Raises:
        BadRequest: it names no game of the package.
    """
    game, seed = definition.get("game"), definition.get("seed")
    if game not in GAMES:
        raise BadRequest(f"the task definition needs `game`, one of {', '.join(GAMES)}")
    if not isinstance(seed, int) or isinstance(seed, bool) or fold_of(seed) is None:
        raise BadRequest(f"`seed` must be one of 0..999, 10000..10999 or 20000..20999, got {seed!r}")
    return GeneratedGame(game, written(read_parameters(game, definition.get("parameters"))), seed)


def checked(definition: Json) -> Json:
    """The definition of an episode, with what it may leave out.

    Raises:
        BadRequest: it cannot be played.
    """
    for name in ("task_id", "split"):
        if not isinstance(definition.get(name), str):
            raise BadRequest(f"the task definition needs `{name}`, a string")
    limit = definition.get("step_limit", DEFAULT_STEPS)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_STEPS:
        raise BadRequest(f"`step_limit` must be an integer in 1..{MAX_STEPS}, got {limit!r}")
    shown = definition.get("valid_actions", False) is True
    return {**definition, **generated_of(definition)._asdict(), "step_limit": limit, "valid_actions": shown}
