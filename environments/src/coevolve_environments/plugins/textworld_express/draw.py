"""Which games a draw or a relation offers, in which order. Their gold paths are found later."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from coevolve_environments.plugins.interleave import interleave, unique_offers
from coevolve_environments.plugins.option_checks import Fold
from coevolve_environments.plugins.textworld_express.games import GAMES, SEEDS
from coevolve_environments.plugins.textworld_express.options import Options, read_parameters
from coevolve_environments.plugins.textworld_express.tasks import GeneratedGame, written
from coevolve_environments.protocol import Relation, Split


def draw(split: Split, seed: int, options: Options) -> Iterator[GeneratedGame]:
    """All seeds of a split, shuffled within each game; the games take turns."""
    folds, salt = options.folds(split), f"{seed}/{split}"
    return interleave([_shuffled(name, options.parameters[name], folds, salt) for name in options.games])


def relatives(
    parents: Sequence[GeneratedGame], relation: Relation, seed: int, options: Options
) -> Iterator[tuple[GeneratedGame, int | None]]:
    """Train games, never a parent and never one twice, spread evenly over the parents.

    neighbour       same game and parameters, another seed
    easier, harder  same game, one less or one more of what makes it large; none where nothing does
    rarer           the third of the games that fewest parents have
    random          any game, for no parent
    """
    if relation == "random":
        return unique_offers(((generated, None) for generated in draw("train", seed, options)), parents)
    streams = []
    for index, parent in enumerate(parents):
        salt = f"{seed}/{relation}/{index}"
        one = interleave(
            [
                _shuffled(name, parameters, ("train",), salt)
                for name, parameters in _worlds(parent, parents, relation, options)
            ]
        )
        streams.append([(generated, index) for generated in one])
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
    return [(game.name, {**parameters, game.size: size})] if 1 <= size <= game.most else []


def _shuffled(
    game: str, parameters: Mapping[str, int], folds: Iterable[Fold], salt: str
) -> list[GeneratedGame]:
    seeds = [seed for fold in folds for seed in SEEDS[fold]]
    random.Random(f"{salt}/{game}").shuffle(seeds)
    text = written(parameters)
    return [GeneratedGame(game, text, seed) for seed in seeds]
