"""scienceworld: thirty task types, the package's own variations, ETO's protocol by default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.java import JavaEngine, find_engine
from coevolve_environments.plugins.scienceworld.draw import draw, relatives
from coevolve_environments.plugins.scienceworld.episode import ScienceWorldEpisode
from coevolve_environments.plugins.scienceworld.gold_paths import GoldPaths
from coevolve_environments.plugins.scienceworld.options import Options, read_options
from coevolve_environments.plugins.scienceworld.task_types import MAX_STEPS, TYPES, VERSION
from coevolve_environments.plugins.scienceworld.tasks import NAME, Variation, make_record, variation_of
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Relation,
    Split,
    TaskRecord,
    Unavailable,
    Variant,
)
from coevolve_environments.settings import Settings

_GOLD_SECONDS = 300.0  # the genetics tasks take a minute on a busy core
_GOLD_IDLE_SECONDS = 30.0


def create(settings: Settings) -> Environment:
    engine = find_engine(settings, NAME, "scienceworld.jar", heap_mb=400)
    if engine.version != VERSION:
        raise Unavailable(f"{NAME} {engine.version} is installed; its table of tasks needs {VERSION}")
    return ScienceWorld(engine, settings)


class ScienceWorld(Environment):
    name = NAME
    description = "Carry out a school-science experiment in a text world (ScienceWorld)."
    capabilities = Capabilities(
        variants=True,
        compose="checker",
        states=True,
        replay="observations",
        dense_reward=True,
        max_turns=MAX_STEPS,
    )
    call_seconds = 60.0  # the first reset of a child includes the start of its JVM
    episode_seconds = 1800.0

    def __init__(self, engine: JavaEngine, settings: Settings) -> None:
        self.name = settings.name
        self.max_sessions = engine.limits.size
        program = engine.program("coevolve_environments.plugins.scienceworld.world", "World")
        self._pool = ChildPool(self.name, program, engine.limits)
        # A separate pool for gold paths leaves all sessions to episodes; its JVMs end soon after a draw.
        limits = replace(engine.limits, call_seconds=_GOLD_SECONDS, idle_seconds=_GOLD_IDLE_SECONDS)
        gold_pool = ChildPool(f"{self.name}-gold", program, limits)
        self._gold = GoldPaths(gold_pool, settings.state / "gold" / engine.version)

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Lists every variation of the default types without gold paths: to generate all takes hours."""
        options = Options(held_out=("dev", "test"))
        return [
            make_record(Variation(name, number), options)
            for name in options.types
            for fold in options.folds(split)
            for number in TYPES[name].variations(fold)
        ]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        chosen = read_options(options)
        solved = self._gold.solved(draw(split, seed, chosen), count, chosen.simplifications)
        return [make_record(variation, chosen, gold) for variation, gold in solved]

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        chosen = read_options(options)
        related = dict(relatives([variation_of(parent) for parent in parents], relation, seed, chosen))
        solved = self._gold.solved(iter(related), count, chosen.simplifications)
        return [
            Variant(make_record(variation, chosen, gold), related[variation]) for variation, gold in solved
        ]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: a variation is one world."""
        return ScienceWorldEpisode(self._pool, definition)

    def close(self) -> None:
        self._pool.close()
        self._gold.close()
