"""textworld-express: eight fast text games with rewards between 0 and 1."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from coevolve_environments.plugins.java import JavaEngine, find_engine
from coevolve_environments.plugins.spellings import command_of
from coevolve_environments.plugins.textworld_express.games import GAMES, MAX_STEPS, SEEDS
from coevolve_environments.plugins.textworld_express.options import Options, read_options
from coevolve_environments.plugins.textworld_express.room_facts import WORDS
from coevolve_environments.plugins.textworld_express.tasks import (
    NAME,
    GeneratedGame,
    GoldPath,
    draw,
    format_parameters,
    generated_of,
    make_record,
    read_definition,
    relatives,
)
from coevolve_environments.processes.child_pool import Child, ChildPool
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
    TaskRecord,
    Variant,
)
from coevolve_environments.settings import Settings
from coevolve_environments.world_state import Fact

_INSTRUCTION = "You play a text game by short commands, one per turn."


def create(settings: Settings) -> Environment:
    engine = find_engine(settings, NAME, "textworld-express.jar", heap_mb=128, pool=8, episodes_per_child=500)
    return TextWorldExpress(engine, settings.name)


class TextWorldExpress(Environment):
    description = "Play one of eight small text games (TextWorldExpress)."
    capabilities = Capabilities(
        variants=True,
        compose="checker",
        states=True,
        replay="observations",
        dense_reward=True,
        max_turns=MAX_STEPS,
        min_actions=2,
    )
    composing = Composing(
        looks=("look around", "inventory"),
        informs=re.compile(r"(?:look|inventory|examine|read|task)\b", re.IGNORECASE),
        fails=re.compile(r"\AUnknown action"),
        words=WORDS,
    )
    # Most attempts of a young policy play all 30 turns: an iteration over 150 tasks would take an hour
    spec_defaults = SpecDefaults(
        train_tasks=150,
        held_out_tasks=60,
        settings={"rollouts.tasksPerIteration": 20, "iterations": 1, "admission.compare": "contents"},
    )
    call_seconds = 60.0  # the first reset of a child includes the start of its JVM

    def __init__(self, engine: JavaEngine, name: str) -> None:
        self.name = name
        self.max_sessions = engine.limits.size
        program = engine.program("coevolve_environments.plugins.textworld_express.world", "World")
        self._pool = ChildPool(name, program, engine.limits)
        self._solved: dict[GeneratedGame, Json] = {}
        """Solutions by game: to find one takes two plays."""

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


class TextWorldExpressEpisode:
    def __init__(self, pool: ChildPool, definition: Json) -> None:
        self._definition = read_definition(definition)
        self.task_id: str = definition["task_id"]
        self.split: str = definition["split"]
        self._child = EpisodeChild(pool)
        self._turn = 0
        self._is_composed = definition.get("checks_facts") is True

    def open(self) -> Observation:
        world = self._child.call("open", **generated_of(self._definition).arguments())
        lines = [
            _INSTRUCTION,
            f"Commands: {GAMES[self._definition['game']].forms}.",
            f"You have {self._definition['max_turns']} actions.",
        ]
        messages = [
            {"role": "system", "content": "\n".join(lines)},
            {"role": "user", "content": f"{world['description']}\n\n{self._observation_text(world)}"},
        ]
        score = max(0.0, world["score"])
        return Observation(messages, turn=0, score=score, instruction=world["description"])

    def act(self, content: str) -> Observation:
        self._turn += 1
        world = self._child.call("step", action=command_of(content))
        messages = [{"role": "user", "content": self._observation_text(world)}]
        score = min(1.0, max(0.0, world["score"]))
        done = world["done"] and not self._is_composed  # another task is not over with the goal of this game
        if not done and self._turn < self._definition["max_turns"]:
            return Observation(messages, self._turn, score=score)
        return Observation.final(
            messages,
            self._turn,
            reward=score,
            raw_score=world["score"],
            success=score == 1.0,
            stop_reason="completed" if done else "turn-limit",
            score=score,
        )

    def facts(self) -> list[Fact]:
        return [(subject, relation, value) for subject, relation, value in self._child.call("facts")]

    def close(self) -> None:
        self._child.close()

    def _observation_text(self, world: Json) -> str:
        text = str(world["observation"]).strip()
        if not self._definition["valid_actions"]:
            return text
        return f"{text}\nYou can: {', '.join(world['valid'])}."
