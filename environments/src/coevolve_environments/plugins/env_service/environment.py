"""env-service: adapter to environments of AgentEvolver's env-service, under a name that the operator chooses.

hosted:
  appworld-remote:
    plugin: env-service
    url: http://127.0.0.1:8080
    env_type: appworld
"""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.env_service.service import EnvService, ServiceEpisode
from coevolve_environments.plugins.remote.client import RELEASE_SECONDS, RemoteClient, read_address
from coevolve_environments.plugins.remote.episode import Releaser
from coevolve_environments.plugins.validation import integer_in_range, refuse_unknown, require_fields
from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

AGENTEVOLVER_STEPS = 30
_OPTIONS = {"max_turns"}
_FIELDS = {"task_id": str, "split": str, "remote_task": str, "max_turns": int}


def create(settings: Settings) -> Environment:
    """Reads `url`, `env_type`, `headers_file`, `timeout_seconds` (60), `sessions` (8), `max_turns` (30),
    `sparse` (true: the score is only success), and the service's names of the splits: `train_split` (train)
    and `held_out_split` (dev).
    """
    return RemoteService(settings)


class RemoteService(Environment):
    def __init__(self, settings: Settings) -> None:
        self.name = settings.name
        address = read_address(settings, "http://127.0.0.1:8080, AgentEvolver's env-service")
        env_type = settings.text("env_type")
        if env_type is None:
            raise settings.invalid(
                "env_type", "the service's name of the environment, for example appworld", None
            )
        self.description = f"{env_type}, on the operator's env-service (AgentEvolver's protocol)."
        self.max_sessions = settings.integer("sessions", 8)
        self.call_seconds = 2 * address.timeout_seconds + RELEASE_SECONDS  # the last step and the evaluation
        self._splits = _read_splits(settings)
        self._sparse = settings.flag("sparse", True)
        self.capabilities = Capabilities(
            variants=False,
            replay="none",
            dense_reward=not self._sparse,
            max_turns=settings.integer("max_turns", AGENTEVOLVER_STEPS),
            gold=False,
        )
        self._env_type = env_type
        self._remote = RemoteClient(address)
        self._service = EnvService(self._remote, env_type)
        self._releaser = Releaser(self.name)
        self._lock = threading.Lock()
        self._records: Mapping[Split, list[TaskRecord]] | None = None

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Requests the tasks from the service at the first call.

        Raises:
            RemoteFault: the request failed.
        """
        with self._lock:
            if self._records is None:
                self._records = self._request_tasks()
            return self._records[split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """Option: `max_turns`, at most the setting."""
        refuse_unknown(options, _OPTIONS)
        limit = self._turn_limit(options.get("max_turns", self.capabilities.max_turns))
        drawn = sample(self.published(split), count, seed, split)
        return [replace(r, definition={**r.definition, "max_turns": limit}) for r in drawn]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: the protocol has none."""
        require_fields(definition, _FIELDS)
        self._turn_limit(definition["max_turns"])
        return ServiceEpisode(self._service, self._releaser, definition, sparse=self._sparse)

    def close(self) -> None:
        self._releaser.close()
        self._remote.close()

    def _request_tasks(self) -> Mapping[Split, list[TaskRecord]]:
        """Lists the tasks. A task in both of the service's splits is held out."""
        ids = {split: self._service.task_ids(remote) for split, remote in self._splits.items()}
        held_out = set(ids["held-out"])
        ids["train"] = [task for task in ids["train"] if task not in held_out]
        return {split: [self._record(split, task) for task in listed] for split, listed in ids.items()}

    def _record(self, split: Split, task: str) -> TaskRecord:
        task_id = f"{self.name}/{task}"
        limit = self.capabilities.max_turns
        return TaskRecord(
            task_id=task_id,
            split=split,
            # The service sends the instruction only in an episode.
            goal=f"Do what task {task} of {self._env_type} asks for.",
            definition={"task_id": task_id, "split": split, "remote_task": task, "max_turns": limit},
            features={"pattern": self._env_type, "group": self.name},
            content_key=hashlib.sha256(f"{self._env_type}/{task}".encode()).hexdigest(),
            reference_actions=[],
        )

    def _turn_limit(self, value: object) -> int:
        return integer_in_range(value, "max_turns", self.capabilities.max_turns)


def _read_splits(settings: Settings) -> dict[Split, str]:
    splits: dict[Split, str] = {
        "train": settings.text("train_split", "train") or "",
        "held-out": settings.text("held_out_split", "dev") or "",
    }
    if splits["train"] == splits["held-out"]:
        raise settings.invalid("held_out_split", "a split other than train_split", splits["held-out"])
    return splits
