"""Composes a task of a model's query and actions: by the environment itself, or in the parent's world."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from coevolve_environments.protocol import (
    BadRequest,
    ComposedTask,
    Environment,
    Json,
    NotSupported,
    Refusal,
    TaskRecord,
)
from coevolve_environments.server.composed_episode import COMPOSED_IN, FINISH, ComposedEpisode, is_finish
from coevolve_environments.server.gold_episode import GoldEpisode

MAX_ACTIONS = 64
MAX_ACTION_CHARACTERS = 20_000
MAX_QUERY_CHARACTERS = 4_000


def compose_task(
    environment: Environment, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
) -> ComposedTask | Refusal:
    """Returns a task whose reference actions score 1 in a new episode, or that the judge grades, or a reason.

    Raises:
        BadRequest: the parent cannot be played.
        NotSupported: the environment makes no tasks of a model's query.
    """
    if environment.capabilities.compose == "none":
        raise NotSupported(f"{environment.name} does not compose tasks")
    if error := _format_error(query.strip(), actions):
        return Refusal("bad-format", error)
    if type(environment).compose is Environment.compose:
        return _compose_in_world(environment, parent, query.strip(), actions)
    composed = environment.compose(parent, query.strip(), actions, options)
    if isinstance(composed, Refusal) or composed.grader == "judge":
        return composed
    reward = GoldEpisode(environment, composed.record).play()["reward"]
    if reward < 1:
        return Refusal("not-executable", f"the actions score {reward:g} in a new episode; expected 1")
    return composed


def _compose_in_world(
    environment: Environment, parent: Json, query: str, actions: Sequence[str]
) -> ComposedTask | Refusal:
    """Plays the actions in the parent's world. The state after them is the checker if it is another one than
    without them and a second episode repeats it; otherwise the judge grades attempts.
    """
    world = parent.get(COMPOSED_IN, parent)
    if world.get("split", "train") != "train":
        raise BadRequest("a composed task needs a train task as its parent")
    reference = _reference_actions(environment, actions)
    definition: Json = {COMPOSED_IN: world, "query": query, "end_state": None}
    played = _play(environment, definition, reference)
    if isinstance(played, Refusal):
        return played
    untouched = _play(environment, definition, [environment.finish or FINISH])
    if played != untouched and _play(environment, definition, reference) == played:
        definition["end_state"] = played
    record = _record(environment, definition, reference)
    return ComposedTask(record, "judge" if definition["end_state"] is None else "environment")


def _reference_actions(environment: Environment, actions: Sequence[str]) -> list[str]:
    """Returns the actions, with the server's own finish at their end if the environment has none."""
    if environment.finish is not None:
        return list(actions)
    ends = [action for action in actions if is_finish(action)]
    return [*(action for action in actions if not is_finish(action)), ends[-1] if ends else FINISH]


def _play(environment: Environment, definition: Json, reference: list[str]) -> str | Refusal | None:
    """Returns the state after the actions. Adds the environment's own finish to them if it is missing."""
    episode = ComposedEpisode(environment, definition, 0)
    try:
        observation = episode.open()
        for played, action in enumerate(reference):
            if observation.done:
                if is_finish(action):
                    break
                return Refusal(
                    "not-executable", f"the episode ends after action {played} of {len(reference)}"
                )
            observation = episode.act(action)
        if not observation.done and environment.finish is not None:
            reference.append(environment.finish)
            observation = episode.act(environment.finish)
        if not observation.done or observation.metadata.get("stop_reason") == "turn-limit":
            return Refusal("not-executable", f"the episode is not over after {len(reference)} actions")
        return episode.state()
    finally:
        episode.close()


def _record(environment: Environment, definition: Json, reference: list[str]) -> TaskRecord:
    world = {
        name: value for name, value in definition[COMPOSED_IN].items() if name not in ("task_id", "split")
    }
    outcome = definition["end_state"] or reference
    identity = json.dumps([environment.name, world, outcome], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()
    task_id = f"{environment.name}/composed/{key[:12]}"
    return TaskRecord(
        task_id=task_id,
        split="train",
        goal=definition["query"],
        definition={"task_id": task_id, "split": "train", **definition},
        features={
            "pattern": "composed",
            "difficulty": 1 + min(4, len(reference) // 5),
            "source": "composed",
            "actions": len(reference),
        },
        content_key=key,
        reference_actions=reference,
    )


def _format_error(query: str, actions: Sequence[str]) -> str | None:
    if not query:
        return "the query is empty"
    if not actions:
        return "there are no actions"
    if len(actions) > MAX_ACTIONS:
        return f"{len(actions)} actions; the maximum is {MAX_ACTIONS}"
    if len(query) > MAX_QUERY_CHARACTERS or any(len(action) > MAX_ACTION_CHARACTERS for action in actions):
        return f"a query has at most {MAX_QUERY_CHARACTERS} characters, an action {MAX_ACTION_CHARACTERS}"
    if not all(_is_storable(text) for text in (query, *actions)):
        return "a text contains NUL or a lone surrogate"
    return None


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
