"""Attempts at an AgentEvolver env-service. Every route takes one JSON object and returns {success, data}.

Source: github.com/modelscope/AgentEvolver, env_service (arXiv:2511.10395). An instance is one attempt at one
task. The service removes instances that are idle for an hour, also those whose release failed.
"""

import uuid
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.remote.client import RELEASE_SECONDS, BadRemoteResponse, RemoteClient
from coevolve_environments.plugins.remote.episode import Releaser, RemoteEpisode
from coevolve_environments.protocol import Json, Observation

_MAX_SCORE = 1e6  # larger values are not scores
_ROLES = ("system", "user", "tool")


@dataclass(frozen=True)
class State:
    """Messages of the environment after its creation or an action."""

    messages: list[dict[str, str]]
    terminated: bool


class EnvService:
    """One environment type of one service."""

    def __init__(self, remote: RemoteClient, env_type: str) -> None:
        self._remote = remote
        self._env_type = env_type

    def task_ids(self, split: str) -> list[str]:
        """Returns the distinct tasks of one of the service's splits, in its order."""
        ids = self._request("/get_env_profile", params={"split": split})
        if not isinstance(ids, list) or not all(isinstance(task, str | int) for task in ids):
            raise BadRemoteResponse(f"/get_env_profile returned {ids!r:.200}; expected a list of tasks")
        return list(dict.fromkeys(str(task) for task in ids))

    def create(self, task_id: str, instance_id: str) -> State:
        return read_state("/create", self._request("/create", task_id=task_id, instance_id=instance_id))

    def step(self, instance_id: str, content: str) -> State:
        message = {"role": "assistant", "content": content}
        return read_state("/step", self._request("/step", instance_id=instance_id, messages=message))

    def evaluate(self, instance_id: str, *, sparse: bool) -> float:
        """Returns the service's score of the instance's current state.

        Args:
            sparse: requests only success. Otherwise the result depends on the type: AppWorld returns the
                fraction of passed tests, BFCL an object, which is not a score.
        """
        score = self._request("/evaluate", instance_id=instance_id, params={"sparse": sparse})
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not -_MAX_SCORE <= score <= _MAX_SCORE:
            hint = "" if sparse else "; set `sparse: true`"
            raise BadRemoteResponse(f"/evaluate returned {score!r:.200}; expected a score{hint}")
        return float(score)

    def release(self, instance_id: str) -> None:
        """Releases the instance. The service may have removed it before."""
        body = {"env_type": self._env_type, "instance_id": instance_id}
        self._remote.post("/release", body, RELEASE_SECONDS)

    def _request(self, path: str, **fields: Any) -> Any:
        response = self._remote.post(path, {"env_type": self._env_type, "params": {}, **fields})
        if not isinstance(response, dict) or response.get("success") is not True or "data" not in response:
            raise BadRemoteResponse(f"{path} returned {response!r:.200}; expected {{success: true, data}}")
        return response["data"]


def read_state(path: str, data: Any) -> State:
    """
    Raises:
        BadRemoteResponse: the data is not a state.
    """
    terminated = data.get("is_terminated", False) if isinstance(data, dict) else None
    messages = data.get("state") if isinstance(data, dict) else None
    if not isinstance(terminated, bool) or not isinstance(messages, list):
        raise BadRemoteResponse(f"{path} returned {data!r:.200}; expected a state")
    return State([_message(path, message) for message in messages], terminated)


def _message(path: str, message: Any) -> dict[str, str]:
    """Reads a message of the environment. Roles other than system and tool become user, never assistant."""
    if not isinstance(message, dict):
        raise BadRemoteResponse(f"{path} returned the message {message!r:.200}; expected an object")
    content = _results(message) or message.get("content")
    if not isinstance(content, str):
        raise BadRemoteResponse(f"{path} returned a message with content {content!r:.200}; expected a string")
    role = message.get("role")
    return {"role": role if role in _ROLES else "user", "content": content}


def _results(message: Json) -> str:
    """Returns the results of a tool message, which may be outside its content."""
    calls = message.get("tool_calls") if message.get("role") == "tool" else None
    listed = calls if isinstance(calls, list) else []
    found = [call.get("result") for call in listed if isinstance(call, dict)]
    return "\n".join(str(result) for result in found if result is not None)


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
