"""Tasks of games with parameters and a seed, and the order of games in a draw or a relation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from coevolve_environments.plugins.draws import in_random_order, interleave, spread_over, unique_offers
from coevolve_environments.plugins.textworld_express.games import GAMES, MAX_STEPS, SEEDS, fold_of
from coevolve_environments.plugins.textworld_express.options import DEFAULT_STEPS, Options, read_parameters
from coevolve_environments.plugins.validation import Fold, integer_in_range, require_fields
from coevolve_environments.protocol import BadRequest, Json, Relation, Split, TaskRecord

NAME = "textworld-express"
_DIFFICULTY = (5, 10, 15, 25)
"""Maximum lengths of gold paths of difficulty 1 to 4."""


class GeneratedGame(NamedTuple):
    """Input of the generator for one game."""

    game: str
    parameters: str
    """Sorted and comma-separated `name=value`."""
    seed: int

    @property
    def key(self) -> str:
        return sha256(f"{NAME}/{self.game}/{self.parameters}/{self.seed}".encode()).hexdigest()

    @property
    def fold(self) -> Fold:
        return fold_of(self.seed) or "train"

    def arguments(self) -> Json:
        return {**self._asdict(), "fold": self.fold}


class GoldPath(NamedTuple):
    description: str
    actions: list[str]


def make_record(generated: GeneratedGame, options: Options, gold: GoldPath | None = None) -> TaskRecord:
    """
    Args:
        gold: None for listings without goal and reference actions.
    """
    game, parameters, seed = generated
    split: Split = "train" if generated.fold == "train" else "held-out"
    length = len(gold.actions) if gold else 0
    changed = "" if parameters == format_parameters(GAMES[game].parameters) else f"-{generated.key[:8]}"
    task_id = f"{NAME}/{game}/{seed:05}{changed}"
    definition = {
        "task_id": task_id,
        "split": split,
        "game": game,
        "parameters": parameters,
        "seed": seed,
        "max_turns": max(options.max_turns, length),
        "valid_actions": options.valid_actions,
    }
    features = {"pattern": game, "group": game, "difficulty": difficulty_of(length), "fold": generated.fold}
    goal = gold.description if gold else f"{game}, seed {seed}"
    actions = list(gold.actions) if gold else []
    return TaskRecord(task_id, split, goal, definition, features, generated.key, actions)


def difficulty_of(gold_length: int) -> int:
    """Returns 1 (short) to 5."""
    return 1 + sum(gold_length > longest for longest in _DIFFICULTY)


def format_parameters(parameters: object) -> str:
    assert isinstance(parameters, dict)
    return ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))


def generated_of(definition: Json) -> GeneratedGame:
    """
    Raises:
        BadRequest: the definition names no game of the package.
    """
    game, seed = definition.get("game"), definition.get("seed")
    if game not in GAMES:
        raise BadRequest(f"the task definition needs `game`, one of {', '.join(GAMES)}")
    if not isinstance(seed, int) or isinstance(seed, bool) or fold_of(seed) is None:
        raise BadRequest(f"`seed` must be one of 0..999, 10000..10999 or 20000..20999, got {seed!r}")
    return GeneratedGame(game, format_parameters(read_parameters(game, definition.get("parameters"))), seed)


def read_definition(definition: Json) -> Json:
    """Returns the definition of an episode with defaults for missing fields.

    Raises:
        BadRequest: the definition cannot be played.
    """
    require_fields(definition, {"task_id": str, "split": str})
    limit = integer_in_range(definition.get("max_turns", DEFAULT_STEPS), "max_turns", MAX_STEPS)
    listed = definition.get("valid_actions", False) is True
    return {**definition, **generated_of(definition)._asdict(), "max_turns": limit, "valid_actions": listed}


def draw(split: Split, seed: int, options: Options) -> Iterator[GeneratedGame]:
    """Yields all seeds of a split, shuffled within each game; the games alternate."""
    folds, salt = options.folds(split), f"{seed}/{split}"
    return interleave([_shuffled(name, options.parameters[name], folds, salt) for name in options.games])


def relatives(
    parents: Sequence[GeneratedGame], relation: Relation, seed: int, options: Options
) -> Iterator[tuple[GeneratedGame, int | None]]:
    """Yields distinct train games that are no parents, spread evenly over the parents.

    neighbour       same game and parameters, another seed
    easier, harder  same game, size parameter one lower or higher; none for games without one
    random          any game, without parent
    """
    if relation == "random":
        salt = f"{seed}/train"
        games = in_random_order(options.games, salt)
        worlds = [_shuffled(name, options.parameters[name], ("train",), salt) for name in games]
        return unique_offers(((generated, None) for generated in interleave(worlds)), parents)

    def of_parent(index: int, parent: GeneratedGame) -> list[GeneratedGame]:
        parameters = _parameters(parent, relation)
        salt = f"{seed}/{relation}/{index}"
        return [] if parameters is None else _shuffled(parent.game, parameters, ("train",), salt)

    return spread_over(parents, of_parent)


def _parameters(parent: GeneratedGame, relation: Relation) -> Mapping[str, int] | None:
    """Returns the parameters of a variant; None if no game has the relation."""
    parameters = read_parameters(parent.game, parent.parameters)
    if relation == "neighbour":
        return parameters
    game = GAMES[parent.game]
    if game.size is None:
        return None
    size = parameters[game.size] + (1 if relation == "harder" else -1)
    return {**parameters, game.size: size} if 1 <= size <= game.max_size else None


def _shuffled(
    game: str, parameters: Mapping[str, int], folds: Iterable[Fold], salt: str
) -> list[GeneratedGame]:
    seeds = [seed for fold in folds for seed in SEEDS[fold]]
    text = format_parameters(parameters)
    return [GeneratedGame(game, text, seed) for seed in in_random_order(seeds, f"{salt}/{game}")]
