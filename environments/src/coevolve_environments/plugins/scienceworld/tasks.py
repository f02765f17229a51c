"""Tasks of variations, and the order of variations in a draw or a relation."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

from coevolve_environments.plugins.draws import in_random_order, interleave, spread_over, unique_offers
from coevolve_environments.plugins.scienceworld.options import Options, read_simplifications
from coevolve_environments.plugins.scienceworld.task_types import MAX_STEPS, TYPES
from coevolve_environments.plugins.validation import Fold, integer_in_range, require_fields
from coevolve_environments.protocol import BadRequest, Json, Relation, Split, TaskRecord

NAME = "scienceworld"
_DIFFICULTY = (10, 20, 40, 80)
"""Maximum lengths of gold paths of difficulty 1 to 4."""


class Variation(NamedTuple):
    type: str
    number: int

    @property
    def key(self) -> str:
        return sha256(f"{NAME}/{self.type}/{self.number}".encode()).hexdigest()

    @property
    def fold(self) -> Fold:
        folds: tuple[Fold, ...] = ("train", "dev", "test")
        return next(fold for fold in folds if self.number in TYPES[self.type].variations(fold))


class GoldPath(NamedTuple):
    description: str
    actions: list[str]


def make_record(variation: Variation, options: Options, gold: GoldPath | None = None) -> TaskRecord:
    """
    Args:
        gold: None for listings: the goal is then the type's name, reference actions are empty, and the
            typical path length of the type is used.
    """
    kind = TYPES[variation.type]
    length = len(gold.actions) if gold else kind.gold_length
    split: Split = "train" if variation.fold == "train" else "held-out"
    task_id = f"{NAME}/{variation.type}/{variation.number:04}"
    definition = {
        "task_id": task_id,
        "split": split,
        "type": variation.type,
        "variation": variation.number,
        "simplifications": options.simplifications,
        "max_turns": options.steps(variation.type, length),
        "manual": options.manual,
    }
    features = {
        "pattern": variation.type,
        "group": kind.topic,
        "difficulty": difficulty_of(length),
        "fold": variation.fold,
        "gold_length": length,
    }
    goal = gold.description if gold else f"{variation.type}, variation {variation.number}"
    return TaskRecord(
        task_id, split, goal, definition, features, variation.key, list(gold.actions) if gold else []
    )


def difficulty_of(gold_length: int) -> int:
    """Returns 1 (short) to 5."""
    return 1 + sum(gold_length > longest for longest in _DIFFICULTY)


def variation_of(definition: Json) -> Variation:
    """
    Raises:
        BadRequest: the definition names no variation of the package.
    """
    kind = TYPES.get(definition.get("type", ""))
    number = definition.get("variation")
    if kind is None:
        raise BadRequest(f"the task definition needs `type`, one of {', '.join(TYPES)}")
    count = kind.train + kind.dev + kind.test
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < count:
        raise BadRequest(f"`variation` of {kind.name} must be in 0..{count - 1}, got {number!r}")
    return Variation(kind.name, number)


def read_definition(definition: Json) -> Json:
    """Returns the definition of an episode with defaults for missing fields.

    Raises:
        BadRequest: the definition cannot be played.
    """
    variation_of(definition)
    require_fields(definition, {"task_id": str, "split": str})
    steps = definition.get("max_turns", TYPES[definition["type"]].steps)
    limit = integer_in_range(steps, "max_turns", MAX_STEPS)
    simplifications = read_simplifications(definition.get("simplifications", "easy"))
    manual = definition.get("manual", True) is True
    return {**definition, "max_turns": limit, "simplifications": simplifications, "manual": manual}


def draw(split: Split, seed: int, options: Options) -> Iterator[Variation]:
    """Yields all variations of a split, shuffled within each type. The types alternate, because one has 692
    variations and another has 4.
    """
    return interleave(
        [_shuffled(name, options.folds(split), f"{seed}/{split}", options) for name in options.types]
    )


def relatives(
    parents: Sequence[Variation], relation: Relation, seed: int, options: Options
) -> Iterator[tuple[Variation, int | None]]:
    """Yields distinct train variations that are no parents, spread evenly over the parents.

    neighbour       same type
    easier, harder  types whose typical gold path has a difficulty one lower or higher, those of the parent's
                    topic first
    random          any type, without parent
    """
    if relation == "random":
        drawn = _mixed(options.types, f"{seed}/train", options)
        return unique_offers(((variation, None) for variation in drawn), parents)

    def of_parent(index: int, parent: Variation) -> Iterator[Variation]:
        salt = f"{seed}/{relation}/{index}"
        names = _types(parent, relation, options)
        alike = [name for name in names if TYPES[name].topic == TYPES[parent.type].topic]
        others = [name for name in names if name not in alike]
        return chain(_mixed(alike, salt, options), _mixed(others, salt, options))

    return spread_over(parents, of_parent)


def _mixed(types: Iterable[str], salt: str, options: Options) -> Iterator[Variation]:
    """Yields the train variations of types in turn; the seed decides which type begins."""
    return interleave([_shuffled(name, ("train",), salt, options) for name in in_random_order(types, salt)])


def _types(parent: Variation, relation: Relation, options: Options) -> list[str]:
    if relation == "neighbour":
        return [parent.type]
    wanted = _difficulty(parent.type) + (1 if relation == "harder" else -1)
    return [name for name in options.types if _difficulty(name) == wanted]


def _difficulty(type: str) -> int:
    return difficulty_of(TYPES[type].gold_length)


def _shuffled(type: str, folds: Iterable[Fold], salt: str, options: Options) -> list[Variation]:
    numbers = [number for fold in folds for number in TYPES[type].variations(fold)[: options.first]]
    return [Variation(type, number) for number in in_random_order(numbers, f"{salt}/{type}")]
