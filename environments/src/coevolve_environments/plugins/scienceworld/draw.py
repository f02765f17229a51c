"""Order of the variations in a draw or a relation. Their gold paths are generated later."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from coevolve_environments.plugins.draws import interleave, unique_offers
from coevolve_environments.plugins.scienceworld.options import Options
from coevolve_environments.plugins.scienceworld.task_types import TYPES
from coevolve_environments.plugins.scienceworld.tasks import Variation, difficulty_of
from coevolve_environments.plugins.validation import Fold
from coevolve_environments.protocol import Relation, Split


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
    easier, harder  types whose typical gold path has a difficulty one lower or higher
    rarer           the third of the types with the fewest parents
    random          any type, without parent
    """
    if relation == "random":
        offers = ((variation, None) for variation in draw("train", seed, options))
        return unique_offers(offers, parents)
    salt = f"{seed}/{relation}"
    streams = []
    for index, parent in enumerate(parents):
        names = _types(parent, parents, relation, options)
        offered = interleave([_shuffled(name, ("train",), f"{salt}/{index}", options) for name in names])
        streams.append([(variation, index) for variation in offered])
    return unique_offers(interleave(streams), parents)


def _types(
    parent: Variation, parents: Sequence[Variation], relation: Relation, options: Options
) -> list[str]:
    if relation == "neighbour":
        return [parent.type]
    if relation == "rarer":
        counts = Counter(variation.type for variation in parents)
        ranked = sorted(options.types, key=lambda name: counts[name])
        return [name for name in ranked[: max(1, len(ranked) // 3)] if name != parent.type]
    wanted = _difficulty(parent.type) + (1 if relation == "harder" else -1)
    return [name for name in options.types if _difficulty(name) == wanted]


def _difficulty(type: str) -> int:
    return difficulty_of(TYPES[type].gold_length)


def _shuffled(type: str, folds: Iterable[Fold], salt: str, options: Options) -> list[Variation]:
    numbers = [number for fold in folds for number in TYPES[type].variations(fold)[: options.first]]
    random.Random(f"{salt}/{type}").shuffle(numbers)
    return [Variation(type, number) for number in numbers]
