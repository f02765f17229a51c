"""Plays a task's reference actions in its environment, which gives the expert trajectory."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from coevolve_environments.plugins.react import react
from coevolve_environments.plugins.validation import one_of
from coevolve_environments.protocol import (
    Environment,
    Episode,
    Json,
    Observation,
    TaskRecord,
)
from coevolve_environments.server.composed_episode import start_episode

Form = Literal["plain", "react"]
FORMS: tuple[Form, ...] = ("plain", "react")


def form_field(body: Json) -> Form:
    return one_of(body.get("form", "plain"), "form", FORMS)


def with_form(record: TaskRecord, form: Form) -> TaskRecord:
    """Returns the task with its reference actions in the given form; environments accept both forms."""
    if form == "plain":
        return record
    return replace(record, reference_actions=[react(action) for action in record.reference_actions])


class GoldEpisode:
    """One expert episode. `stop` may be called from another thread while `play` runs."""

    def __init__(self, environment: Environment, record: TaskRecord) -> None:
        self._environment = environment
        self._record = record
        self._episode: Episode | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def play(self) -> Json:
        """Plays the actions until the episode is done.

        Returns:
            task_id, pattern, conversation (role and content), reward in [0, 1], number of turns, most turns
            of an attempt, number of characters of the conversation, and of the functions that the episode
            offers, as JSON; and these functions, each list with the index of the message before which an
            observation offers it.

        Raises:
            BadRequest: the task cannot be played.
        """
        episode = start_episode(self._environment, self._record.definition, 0)
        with self._lock:
            self._episode = episode
            stopped = self._stopped
        try:
            if stopped:
                raise TimeoutError("the episode was stopped before its start")
            return self._play_actions(episode)
        finally:
            self.stop()

    def stop(self) -> None:
        with self._lock:
            episode, self._episode, self._stopped = self._episode, None, True
        if episode is not None:
            episode.close()

    def _play_actions(self, episode: Episode) -> Json:
        observation = episode.open()
        conversation, turns = list(observation.messages), 0
        functions = _functions(observation, 0)
        for action in self._record.reference_actions:
            if observation.done:
                break
            observation = episode.act(action)
            turns += 1
            conversation.append({"role": "assistant", "content": action})
            functions += _functions(observation, len(conversation))
            conversation += observation.messages
        return {
            "task_id": self._record.task_id,
            "pattern": str(self._record.features.get("pattern", "")),
            "conversation": conversation,
            "reward": observation.reward if observation.done else 0.0,
            "turns": turns,
            "max_turns": self._record.definition.get("max_turns", self._environment.capabilities.max_turns),
            "characters": _characters(conversation),
            "function_characters": sum(len(json.dumps(listed["functions"])) for listed in functions),
            "functions": functions,
        }


def _characters(conversation: Sequence[dict[str, str]]) -> int:
    return sum(len(message["content"]) for message in conversation)


def _functions(observation: Observation, before: int) -> list[Json]:
    return [] if observation.tools is None else [{"before": before, "functions": observation.tools}]
