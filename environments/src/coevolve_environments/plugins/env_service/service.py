"""AgentEvolver's env-service, as a client: every route takes one JSON object and answers {success, data}.

Source: github.com/modelscope/AgentEvolver, env_service (arXiv:2511.10395). An instance is one attempt at one
task; the service reaps those that are idle for an hour, so one that cannot be released is not lost for ever.
"""

from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.remote.client import RELEASE_SECONDS, BadRemoteAnswer, RemoteClient
from coevolve_environments.protocol import Json

_HIGHEST = 1e6  # beyond it is no score, nor is what is no number at all
_ROLES = ("system", "user", "tool")


@dataclass(frozen=True)
class State:
    """What the world says after its creation or an action."""

    messages: list[dict[str, str]]
    terminated: bool


class EnvService:
    """One type of environment at one service."""

    def __init__(self, remote: RemoteClient, env_type: str) -> None:
        self._remote = remote
        self._env_type = env_type

    def task_ids(self, split: str) -> list[str]:
        """The tasks of one of the service's own splits, each once, in its order."""
        ids = self._ask("/get_env_profile", params={"split": split})
        if not isinstance(ids, list) or not all(isinstance(task, str | int) for task in ids):
            raise BadRemoteAnswer(f"/get_env_profile answers {ids!r:.200}, not a list of tasks")
        return list(dict.fromkeys(str(task) for task in ids))

    def create(self, task_id: str, instance_id: str) -> State:
        return read_state("/create", self._ask("/create", task_id=task_id, instance_id=instance_id))

    def step(self, instance_id: str, content: str) -> State:
        said = {"role": "assistant", "content": content}
        return read_state("/step", self._ask("/step", instance_id=instance_id, messages=said))

    def evaluate(self, instance_id: str, *, sparse: bool) -> float:
        """The service's own score of what the instance has come to.

        Args:
            sparse: asks for success alone. Without it a type answers as it likes: AppWorld the share of its
                tests that pass, BFCL an object, which is no score.
        """
        score = self._ask("/evaluate", instance_id=instance_id, params={"sparse": sparse})
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if not number or not -_HIGHEST <= score <= _HIGHEST:
            hint = "" if sparse else "; `sparse: true` asks for success alone"
            raise BadRemoteAnswer(f"/evaluate answers {score!r:.200}, not a score{hint}")
        return float(score)

    def release(self, instance_id: str) -> None:
        """Whether the service still had the instance makes no difference: afterwards it has not."""
        body = {"env_type": self._env_type, "instance_id": instance_id}
        self._remote.post("/release", body, RELEASE_SECONDS)

    def _ask(self, path: str, **fields: Any) -> Any:
        answer = self._remote.post(path, {"env_type": self._env_type, "params": {}, **fields})
        if not isinstance(answer, dict) or answer.get("success") is not True or "data" not in answer:
            raise BadRemoteAnswer(f"{path} answers {answer!r:.200}, not {{success: true, data}}")
        return answer["data"]


def read_state(path: str, data: Any) -> State:
    """
    Raises:
        BadRemoteAnswer: it is none.
    """
    terminated = data.get("is_terminated", False) if isinstance(data, dict) else None
    messages = data.get("state") if isinstance(data, dict) else None
    if not isinstance(terminated, bool) or not isinstance(messages, list):
        raise BadRemoteAnswer(f"{path} answers {data!r:.200}, not a state")
    return State([_message(path, message) for message in messages], terminated)


def _message(path: str, message: Any) -> dict[str, str]:
    """A message of the environment, which never speaks as the policy: no system and no tool is the user."""
    if not isinstance(message, dict):
        raise BadRemoteAnswer(f"{path} answers the message {message!r:.200}")
    content = _results(message) or message.get("content")
    if not isinstance(content, str):
        raise BadRemoteAnswer(f"{path} answers a message whose content is {content!r:.200}")
    role = message.get("role")
    return {"role": role if role in _ROLES else "user", "content": content}


def _results(message: Json) -> str:
    """Of a tool's message, whose content may be empty and its results beside it."""
    calls = message.get("tool_calls") if message.get("role") == "tool" else None
    listed = calls if isinstance(calls, list) else []
    found = [call.get("result") for call in listed if isinstance(call, dict)]
    return "\n".join(str(result) for result in found if result is not None)
