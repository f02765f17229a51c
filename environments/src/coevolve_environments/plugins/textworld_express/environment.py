"""textworld-express: eight fast text games with rewards between 0 and 1."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from coevolve_environments.plugins.java import JavaEngine, find_engine
from coevolve_environments.plugins.textworld_express.draw import draw, relatives
from coevolve_environments.plugins.textworld_express.episode import TextWorldExpressEpisode
from coevolve_environments.plugins.textworld_express.games import MAX_STEPS, SEEDS
from coevolve_environments.plugins.textworld_express.options import Options, read_options
from coevolve_environments.plugins.textworld_express.tasks import (
    NAME,
    GeneratedGame,
    GoldPath,
    format_parameters,
    generated_of,
    make_record,
)
from coevolve_environments.processes.child_pool import Child, ChildPool
from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Relation,
    Split,
    TaskRecord,
    Variant,
)
from coevolve_environments.settings import Settings


def create(settings: Settings) -> Environment:
    engine = find_engine(settings, NAME, "textworld-express.jar", heap_mb=128, pool=8, episodes_per_child=500)
    return TextWorldExpress(engine, settings.name)


class TextWorldExpress(Environment):
    description = "Play one of eight small text games (TextWorldExpress)."
    capabilities = Capabilities(variants=True, replay="observations", dense_reward=True, max_turns=MAX_STEPS)
    call_seconds = 60.0  # the first reset of a child includes the start of its JVM

    def __init__(self, engine: JavaEngine, name: str) -> None:
        self.name = name
        self.max_sessions = engine.limits.size
        program = engine.program("coevolve_environments.plugins.textworld_express.world", "World")
        self._pool = ChildPool(name, program, engine.limits)
        self._solved: dict[GeneratedGame, Json] = {}
        """Solutions by game: the package's search for coins is random, and a task must keep its path."""

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Lists all games with the default parameters, without gold paths."""
        options = Options(held_out=("dev", "test"))
        return [
            make_record(GeneratedGame(name, format_parameters(options.parameters[name]), seed), options)
            for name in options.games
            for fold in options.folds(split)
            for seed in SEEDS[fold]
        ]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        chosen = read_options(options)
        solved = self._solve(draw(split, seed, chosen), count)
        return [make_record(generated, chosen, gold) for generated, gold in solved]

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        chosen = read_options(options)
        related = dict(relatives([generated_of(parent) for parent in parents], relation, seed, chosen))
        solved = self._solve(iter(related), count)
        return [
            Variant(make_record(generated, chosen, gold), related[generated]) for generated, gold in solved
        ]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: the definition has the seed of the game."""
        return TextWorldExpressEpisode(self._pool, definition)

    def close(self) -> None:
        self._pool.close()

    def _solve(self, offers: Iterator[GeneratedGame], count: int) -> list[tuple[GeneratedGame, GoldPath]]:
        """Returns the first `count` games whose gold path scores 1 within the maximum number of actions."""
        with self._pool.data_child() as child:
            return list(islice(self._won(child, offers), count))

    def _won(self, child: Child, offers: Iterator[GeneratedGame]) -> Iterator[tuple[GeneratedGame, GoldPath]]:
        for generated in offers:
            solution = self._solved.get(generated)
            if solution is None:
                solution = self._solved[generated] = child.call("solve", **generated.arguments())
            if solution["score"] >= 1.0 and len(solution["actions"]) <= MAX_STEPS:
                yield generated, GoldPath(solution["description"], solution["actions"])
