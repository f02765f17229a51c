"""Composes a task of a model's query and actions: by the environment itself, or in the parent's world."""

from collections.abc import Mapping, Sequence
from typing import Any

from coevolve_environments.protocol import ComposedTask, Environment, Json, NotSupported, Refusal
from coevolve_environments.server.compose_in_world import compose_in_world
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
        return compose_in_world(environment, parent, query.strip(), actions)
    composed = environment.compose(parent, query.strip(), actions, options)
    if isinstance(composed, Refusal) or composed.grader == "judge":
        return composed
    reward = GoldEpisode(environment, composed.record).play()["reward"]
    if reward < 1:
        return Refusal("not-executable", f"the actions score {reward:g} in a new episode; expected 1")
    return composed


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
