"""Composes a task from what a model wrote, and plays it once before anybody else does."""

from collections.abc import Mapping, Sequence
from typing import Any

from coevolve_environments.protocol import ComposedTask, Environment, Json, Refusal
from coevolve_environments.server.gold_episode import GoldEpisode

MAX_ACTIONS = 64
MAX_CHARACTERS = 20_000
MAX_QUERY = 4_000


def compose_task(
    environment: Environment, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
) -> ComposedTask | Refusal:
    """The environment's task, whose reference actions score 1 in a fresh episode, or why there is none."""
    if fault := _fault(query.strip(), actions):
        return Refusal("bad-format", fault)
    made = environment.compose(parent, query.strip(), actions, options)
    if isinstance(made, Refusal) or made.grader == "judge":
        return made
    reward = GoldEpisode(environment, made.record).run()["reward"]
    if reward < 1:
        return Refusal("not-executable", f"played again, the actions score {reward:g}")
    return made


def _fault(query: str, actions: Sequence[str]) -> str | None:
    if not query:
        return "the query is empty"
    if not actions:
        return "there are no actions"
    if len(actions) > MAX_ACTIONS:
        return f"{len(actions)} actions, at most {MAX_ACTIONS} are taken"
    if len(query) > MAX_QUERY or any(len(action) > MAX_CHARACTERS for action in actions):
        return f"a query has at most {MAX_QUERY} characters, an action {MAX_CHARACTERS}"
    if not all(_is_storable(text) for text in (query, *actions)):
        return "a text holds NUL or half a surrogate pair"
    return None


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
