"""One attempt at one variation: its reward is the best score, and a negative score ends it (ETO)."""

from coevolve_environments.plugins.command import command_of
from coevolve_environments.plugins.scienceworld.object_tree import described_text
from coevolve_environments.plugins.scienceworld.tasks import read_definition
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import Json, Observation, StopReason

_OTHER_INSTRUCTION = (
    "You are in a small simulated world and carry out one task by short text commands, one per turn."
)
_INSTRUCTION = (
    "You are in a small simulated world and carry out one science task by short text commands, one per turn. "
    "`focus on` names the thing that the task is about: doing so with a wrong thing loses the task."
)


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
