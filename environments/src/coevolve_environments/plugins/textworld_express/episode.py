"""One attempt at one game: its reward is the final score, clamped to [0, 1]."""

from coevolve_environments.plugins.command import command_of
from coevolve_environments.plugins.textworld_express.games import GAMES
from coevolve_environments.plugins.textworld_express.tasks import generated_of, read_definition
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import Json, Observation

_INSTRUCTION = "You play a text game by short commands, one per turn."


class TextWorldExpressEpisode:
    def __init__(self, pool: ChildPool, definition: Json) -> None:
        self._definition = read_definition(definition)
        self.task_id: str = definition["task_id"]
        self.split: str = definition["split"]
        self._child = EpisodeChild(pool)
        self._turn = 0

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
        if not world["done"] and self._turn < self._definition["max_turns"]:
            return Observation(messages, self._turn, score=score)
        return Observation.final(
            messages,
            self._turn,
            reward=score,
            raw_score=world["score"],
            success=score == 1.0,
            stop_reason="completed" if world["done"] else "turn-limit",
            score=score,
        )

    def close(self) -> None:
        self._child.close()

    def _observation_text(self, world: Json) -> str:
        text = str(world["observation"]).strip()
        if not self._definition["valid_actions"]:
            return text
        return f"{text}\nYou can: {', '.join(world['valid'])}."
