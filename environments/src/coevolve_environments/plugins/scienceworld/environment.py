"""scienceworld: thirty task types, the package's own variations, ETO's protocol by default."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.java import JavaEngine, find_engine
from coevolve_environments.plugins.scienceworld.gold_paths import GoldPaths
from coevolve_environments.plugins.scienceworld.object_tree import WORDS, described_text
from coevolve_environments.plugins.scienceworld.options import Options, read_options
from coevolve_environments.plugins.scienceworld.task_types import MAX_STEPS, TYPES, VERSION
from coevolve_environments.plugins.scienceworld.tasks import (
    NAME,
    Variation,
    draw,
    make_record,
    read_definition,
    relatives,
    variation_of,
)
from coevolve_environments.plugins.spellings import command_of
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import (
    Capabilities,
    Composing,
    Environment,
    Episode,
    Json,
    Observation,
    Relation,
    SpecDefaults,
    Split,
    StopReason,
    TaskRecord,
    Unavailable,
    Variant,
)
from coevolve_environments.settings import Settings
from coevolve_environments.world_state import Fact

_GOLD_SECONDS = 300.0  # the genetics tasks take a minute on a busy core
_GOLD_IDLE_SECONDS = 30.0
_GOLD_COMPILER_TIER = 4
"""Thirteen paths, each a search of seconds, took 30 s of processor time instead of 58, of equal lengths."""
_WORLD = ("coevolve_environments.plugins.scienceworld.world", "World")
_OTHER_INSTRUCTION = (
    "You are in a small simulated world and carry out one task by short text commands, one per turn."
)
_INSTRUCTION = (
    "You are in a small simulated world and carry out one science task by short text commands, one per turn. "
    "`focus on` names the thing that the task is about: doing so with a wrong thing loses the task."
)


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
        min_actions=2,
    )
    # Most attempts of a young policy play all their 15 to 120 turns, each with all earlier ones in its prompt
    spec_defaults = SpecDefaults(
        train_tasks=40,
        held_out_tasks=20,
        max_positions=4096,
        settings={"rollouts.tasksPerIteration": 5, "iterations": 1, "admission.compare": "contents"},
    )
    composing = Composing(
        looks=("look around", "inventory"),
        wait="wait",
        informs=re.compile(
            r"(?:look|examine|inventory|read|wait|focus|task|use|objects|help|open door|close door|\d)",
            re.IGNORECASE,
        ),
        fails=re.compile(
            r"\A(?:No known action|Unknown action|Ambiguous request|That can't|That thing doesn't appear)"
        ),
        words=WORDS,
    )
    call_seconds = 60.0  # the first reset of a child includes the start of its JVM
    episode_seconds = 1800.0

    def __init__(self, engine: JavaEngine, settings: Settings) -> None:
        self.name = settings.name
        self.max_sessions = engine.limits.size
        self._pool = ChildPool(self.name, engine.program(*_WORLD), engine.limits)
        # A separate pool for gold paths leaves all sessions to episodes; its JVMs end soon after a draw.
        limits = replace(engine.limits, call_seconds=_GOLD_SECONDS, idle_seconds=_GOLD_IDLE_SECONDS)
        solver = engine.program(*_WORLD, compiler_tier=_GOLD_COMPILER_TIER)
        gold_pool = ChildPool(f"{self.name}-gold", solver, limits)
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


class ScienceWorldEpisode:
    """Protocol of ETO (Song et al. 2024, arXiv:2403.02502)."""

    def __init__(self, pool: ChildPool, definition: Json) -> None:
        self._definition = read_definition(definition)
        self.task_id: str = definition["task_id"]
        self.split: str = definition["split"]
        self._query = definition.get("query")
        self._child = EpisodeChild(pool)
        self._turn = 0
        self._best = 0.0

    def open(self) -> Observation:
        task = {key: self._definition[key] for key in ("type", "variation", "simplifications")}
        world = self._child.call("open", **task)
        self._best = max(0.0, world["score"])
        limit = f"You have {self._definition['max_turns']} actions."
        lines = [_INSTRUCTION if self._query is None else _OTHER_INSTRUCTION, limit]
        if self._definition["manual"]:
            lines.append("Forms of commands, OBJ being a thing in reach: " + ", ".join(world["forms"]) + ".")
        messages = [
            {"role": "system", "content": "\n".join(lines)},
            {"role": "user", "content": f"{world['description']}\n\n{world['observation']}"},
        ]
        return Observation(messages, turn=0, score=self._best, instruction=world["description"])

    def act(self, content: str) -> Observation:
        self._turn += 1
        world = self._child.call("step", action=command_of(content))
        self._best = max(self._best, world["score"])
        messages = [{"role": "user", "content": world["observation"]}]
        stop = self._stop_reason(world)
        if stop is None:
            return Observation(messages, self._turn, score=self._best)
        return Observation.final(
            messages,
            self._turn,
            reward=self._best,
            raw_score=world["score"],
            success=self._best >= 1.0,
            stop_reason=stop,
            error_type="wrong-focus" if world["score"] < 0 else None,
            score=self._best,
        )

    def facts(self) -> list[Fact]:
        return [(subject, relation, value) for subject, relation, value in self._child.call("facts")]

    def state(self) -> Json:
        return dict(self._child.call("changes"))

    def changes(self, state: Json) -> list[str]:
        return [f"{kind}: {described_text(thing)}" for kind in ("gone", "added") for thing in state[kind]]

    def close(self) -> None:
        self._child.close()

    def _stop_reason(self, world: Json) -> StopReason | None:
        ends = world["completed"] or world["score"] < 0
        if ends and self._query is None:  # another task is not over with the goal of this world
            return "completed"
        return "turn-limit" if self._turn >= self._definition["max_turns"] else None
