"""The state of a world after an attempt at a composed task, and what the judge sees of it."""

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
    """An episode that tells what changed in its world."""

    def changes(self, state: Json) -> list[str]:
        """Returns what the actions changed, as lines for the judge; `state` is what `state` returned."""


def changes_text(changes: list[str]) -> str:
    """Returns what the end of an attempt shows to the judge; the policy does not read it."""
    if not changes:
        return "The actions have changed nothing in the world."
    shown = [f"- {change[:_MAX_CHANGE_CHARACTERS]}" for change in changes[:_MAX_CHANGES]]
    more = [f"- {len(changes) - _MAX_CHANGES} more"] if len(changes) > _MAX_CHANGES else []
    return "\n".join(["The actions have changed in the world:", *shown, *more])
