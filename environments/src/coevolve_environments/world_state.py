"""The state of a world after an attempt at a composed task, and the part of it that the judge sees."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from coevolve_environments.protocol import Json

Fact = tuple[str, str, str]
"""Subject, relation and value, such as `("banana", "in", "fridge")` or `("fridge", "open", "yes")`."""
IN, AT, THERE, AGENT = "in", "at", "there", "agent"
"""Relations of a thing to its places and holders, of the agent to its place, of what exists; the agent."""

HOUSEHOLD_WORDS: Mapping[str, Sequence[str]] = {
    IN: (
        "put",
        "place",
        "move",
        "bring",
        "carry",
        "drop",
        "set",
        "lay",
        "store",
        "insert",
        "return",
        "leave",
    ),
    AGENT: ("pick", "take", "hold", "carry", "get", "grab", "fetch", "keep", "collect", "inventory"),
    "open": ("open", "close", "shut", "opened", "closed"),
    "open no": ("close", "shut", "closed"),
}
"""Words of a request for relations that every house has."""

_MAX_CHANGES, _MAX_CHANGE_CHARACTERS = 20, 200


@runtime_checkable
class HasState(Protocol):
    """An episode with a state of its world, for composed tasks."""

    def state(self) -> Json:
        """Returns all that actions change and a request can ask for, without counters and times. Called once,
        after the last action, also of a done episode. With an own `finish`, `answer` is the answer."""


@runtime_checkable
class HasFacts(Protocol):
    """An episode that states its world as facts at any time, for composed tasks."""

    def facts(self) -> list[Fact]:
        """Returns all that holds now and a request can ask for, with the agent's place. A thing is in each
        place that contains it: these facts stand together, from the innermost place. Changes nothing."""


@runtime_checkable
class HasChanges(HasState, Protocol):
    """An episode that lists the changes of its world."""

    def changes(self, state: Json) -> list[str]:
        """Returns the changes by the actions, as lines for the judge; `state` is the result of `state()`."""


def facts_of(state: Json) -> list[Fact]:
    """Returns the values of a state as facts, each with the path of its field; a list is one value."""

    def leaves(value: Any, path: str) -> Iterator[Fact]:
        if isinstance(value, dict) and value:
            for name, inner in sorted(value.items()):
                yield from leaves(inner, f"{path}.{name}" if path else name)
        else:
            yield (path, "is", json.dumps(value, sort_keys=True))

    return list(leaves(state, ""))


def changes_text(changes: list[str]) -> str:
    """Returns the changes as a text for the judge; the policy does not read it."""
    if not changes:
        return "The actions have changed nothing in the world."
    shown = [f"- {change[:_MAX_CHANGE_CHARACTERS]}" for change in changes[:_MAX_CHANGES]]
    more = [f"- {len(changes) - _MAX_CHANGES} more"] if len(changes) > _MAX_CHANGES else []
    return "\n".join(["The actions have changed in the world:", *shown, *more])
