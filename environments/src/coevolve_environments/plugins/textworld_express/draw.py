"""Order of the games in a draw or a relation. Their gold paths are generated later."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from coevolve_environments.plugins.draws import interleave, unique_offers
from coevolve_environments.plugins.textworld_express.games import GAMES, SEEDS
from coevolve_environments.plugins.textworld_express.options import Options, read_parameters
from coevolve_environments.plugins.textworld_express.tasks import GeneratedGame, format_parameters
from coevolve_environments.plugins.validation import Fold
from coevolve_environments.protocol import Relation, Split


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
    rarer           the third of the games with the fewest parents
    random          any game, without parent
    """
    if relation == "random":
        return unique_offers(((generated, None) for generated in draw("train", seed, options)), parents)
    streams = []
    for index, parent in enumerate(parents):
        salt = f"{seed}/{relation}/{index}"
        offered = interleave(
            [
                _shuffled(name, parameters, ("train",), salt)
                for name, parameters in _worlds(parent, parents, relation, options)
            ]
        )
        streams.append([(generated, index) for generated in offered])
    return unique_offers(interleave(streams), parents)


def _worlds(
    parent: GeneratedGame, parents: Sequence[GeneratedGame], relation: Relation, options: Options
) -> list[tuple[str, Mapping[str, int]]]:
    if relation == "rarer":
        counts = Counter(other.game for other in parents)
        ranked = sorted(options.games, key=lambda name: counts[name])
        rare = [name for name in ranked[: max(1, len(ranked) // 3)] if name != parent.game]
        return [(name, options.parameters[name]) for name in rare]
    parameters = read_parameters(parent.game, parent.parameters)
    if relation == "neighbour":
        return [(parent.game, parameters)]
    game = GAMES[parent.game]
    if game.size is None:
        return []
    size = parameters[game.size] + (1 if relation == "harder" else -1)
    return [(game.name, {**parameters, game.size: size})] if 1 <= size <= game.max_size else []


def _shuffled(
    game: str, parameters: Mapping[str, int], folds: Iterable[Fold], salt: str
) -> list[GeneratedGame]:
    seeds = [seed for fold in folds for seed in SEEDS[fold]]
    random.Random(f"{salt}/{game}").shuffle(seeds)
    text = format_parameters(parameters)
    return [GeneratedGame(game, text, seed) for seed in seeds]
