"""One attempt: an instance at the service, from its creation to its release."""

import uuid

from coevolve_environments.plugins.env_service.service import EnvService, State
from coevolve_environments.plugins.remote.episode import Releaser, RemoteEpisode
from coevolve_environments.protocol import Json, Observation


class ServiceEpisode(RemoteEpisode):
    """Sends the policy's text unchanged. The reward is the service's evaluation, clamped to 0..1, after the
    instance has terminated or the step limit is reached; rewards of single steps are ignored.
    """

    def __init__(self, service: EnvService, releaser: Releaser, definition: Json, *, sparse: bool) -> None:
        super().__init__()
        self.task_id = definition["task_id"]
        self.split = definition["split"]
        self._task: str = definition["remote_task"]
        self._limit: int = definition["max_turns"]
        self._is_composed = "query" in definition
        self._service = service
        self._releaser = releaser
        self._sparse = sparse
        # Chosen here, so that a creation whose response is lost can be released too.
        self._instance = uuid.uuid4().hex
        self._created = False
        self._steps = 0

    def _begin(self) -> Observation:
        self._created = True
        return self._observe(self._service.create(self._task, self._instance))

    def _continue(self, content: str) -> Observation:
        self._steps += 1
        return self._observe(self._service.step(self._instance, content))

    def _release(self) -> None:
        if self._created:
            name = f"instance {self._instance}"
            self._releaser.release(name, lambda: self._service.release(self._instance))

    def _observe(self, state: State) -> Observation:
        if not state.terminated and self._steps < self._limit:
            return Observation(state.messages, self._steps)
        # The service evaluates its own task only.
        raw = 0.0 if self._is_composed else self._service.evaluate(self._instance, sparse=self._sparse)
        reward = min(max(raw, 0.0), 1.0)
        return Observation.final(
            state.messages,
            self._steps,
            reward=reward,
            raw_score=raw,
            success=reward == 1.0,
            stop_reason="completed" if state.terminated else "turn-limit",
        )
