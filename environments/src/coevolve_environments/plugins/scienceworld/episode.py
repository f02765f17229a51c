"""One attempt at one variation: the best score of the episode is its reward, a negative one ends it (ETO)."""

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.scienceworld.tasks import checked
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import Json, Observation

_LONGEST_ACTION = 200  # characters; the parser's work grows with the text, and no form of action is longer
_INSTRUCTION = (
    "You are in a small simulated world and carry out one science task by short text commands, one per turn. "
    "`focus on` names the thing that the task is about: doing so with a wrong thing loses the task."
)


class ScienceWorldEpisode:
    """Protocol of ETO (Song et al. 2024, arXiv:2403.02502)."""

    def __init__(self, pool: ChildPool, definition: Json) -> None:
        self._definition = checked(definition)
        self.task_id: str = definition["task_id"]
        self.split: str = definition["split"]
        self._child = EpisodeChild(pool)
        self._turn = 0
        self._best = 0.0

    def open(self) -> Observation:
        task = {key: self._definition[key] for key in ("type", "variation", "simplifications")}
        world = self._child.call("open", **task)
        self._best = max(0.0, world["score"])
        limit = f"You have {self._definition['step_limit']} actions."
        lines = [_INSTRUCTION, limit]
        if self._definition["manual"]:
            lines.append("Forms of commands, OBJ being a thing in reach: " + ", ".join(world["forms"]) + ".")
        messages = [
            {"role": "system", "content": "\n".join(lines)},
            {"role": "user", "content": f"{world['description']}\n\n{world['observation']}"},
        ]
        return Observation(messages, turn=0, score=self._best)

    def act(self, content: str) -> Observation:
        self._turn += 1
        action = " ".join(action_of(content).split())[:_LONGEST_ACTION]
        world = self._child.call("step", action=action)
        self._best = max(self._best, world["score"])
        messages = [{"role": "user", "content": world["observation"]}]
        stop = self._stop_reason(world)
        if stop is None:
            return Observation(messages, self._turn, score=self._best)
        metadata = {
            "raw_score": world["score"],
            "success": self._best >= 1.0,
            "stop_reason": stop,
            "error_type": "wrong-focus" if world["score"] < 0 else None,
        }
        return Observation(messages, self._turn, None, True, self._best, self._best, metadata)

    def close(self) -> None:
        self._child.close()

    def _stop_reason(self, world: Json) -> str | None:
        if world["completed"] or world["score"] < 0:
            return "completed"
        return "step-limit" if self._turn >= self._definition["step_limit"] else None
