"""How ETO shortens a pair before it is learnt from.

From `construct_preference` of the code of "Trial and Error" (ETO, arXiv:2403.02502).
"""

from __future__ import annotations

from typing import Any, NamedTuple

MORE_MESSAGES = 10
MORE_ACTIONS = MORE_MESSAGES // 2
"""Ten messages are five actions and the five answers of the environment."""


class ShortPair(NamedTuple):
    chosen: dict[str, Any]
    rejected: dict[str, Any]
    cut: bool  # whether the rejected side lost an action


def shorten_pair(chosen: dict[str, Any], rejected: dict[str, Any]) -> ShortPair | None:
    """The rejected side cut to the chosen one's messages and ten more; none unless both end on an action.

    Messages after a trajectory's last action are left out first. Where a side has steps, which are actions,
    instead of messages, actions are counted and five more are left. A side has either messages or steps.
    """
    chosen, rejected = _until_last_action(chosen), _until_last_action(rejected)
    if not _actions(chosen) or not _actions(rejected):
        return None
    if "messages" in chosen and "messages" in rejected:
        kept = rejected["messages"][: len(chosen["messages"]) + MORE_MESSAGES]
        if kept[-1]["role"] != "assistant":
            return None
        short = {**rejected, "messages": kept}
    else:
        short = _first_actions(rejected, _actions(chosen) + MORE_ACTIONS)
    return ShortPair(chosen, short, _actions(short) < _actions(rejected))


def _actions(trajectory: dict[str, Any]) -> int:
    if "steps" in trajectory:
        return len(trajectory["steps"])
    return sum(message["role"] == "assistant" for message in trajectory["messages"])


def _until_last_action(trajectory: dict[str, Any]) -> dict[str, Any]:
    return _first_actions(trajectory, _actions(trajectory))


def _first_actions(trajectory: dict[str, Any], count: int) -> dict[str, Any]:
    """What ends with the action of this number, from 1; all where there are fewer."""
    if "steps" in trajectory:
        return {**trajectory, "steps": trajectory["steps"][:count]}
    places = [i for i, message in enumerate(trajectory["messages"]) if message["role"] == "assistant"]
    end = places[min(count, len(places)) - 1] + 1 if places and count else 0
    return {**trajectory, "messages": trajectory["messages"][:end]}
