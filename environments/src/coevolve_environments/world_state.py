"""The state of a world after an attempt at a composed task, and the part of it that the judge sees."""

from typing import Protocol, runtime_checkable

from coevolve_environments.protocol import Json

_MAX_CHANGES, _MAX_CHANGE_CHARACTERS = 20, 200


@runtime_checkable
class HasState(Protocol):
    """An episode with a state of its world, for composed tasks."""

    def state(self) -> Json:
        """Returns all that actions change and a request can ask for, without counters and times. Called once,
        after the last action, also of a done episode."""


@runtime_checkable
class HasChanges(HasState, Protocol):
    """An episode that lists the changes of its world."""

    def changes(self, state: Json) -> list[str]:
        """Returns the changes by the actions, as lines for the judge; `state` is the result of `state()`."""


def changes_text(changes: list[str]) -> str:
    """Returns the changes as a text for the judge; the policy does not read it."""
    if not changes:
        return "The actions have changed nothing in the world."
    shown = [f"- {change[:_MAX_CHANGE_CHARACTERS]}" for change in changes[:_MAX_CHANGES]]
    more = [f"- {len(changes) - _MAX_CHANGES} more"] if len(changes) > _MAX_CHANGES else []
    return "\n".join(["The actions have changed in the world:", *shown, *more])
