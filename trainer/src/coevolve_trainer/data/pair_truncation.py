"""ETO's truncation of preference pairs.

From `construct_preference` in the code of "Trial and Error" (ETO, arXiv:2403.02502).
"""

from __future__ import annotations

from typing import Any, NamedTuple

EXTRA_MESSAGES = 10
EXTRA_ACTIONS = EXTRA_MESSAGES // 2
"""Ten messages are five actions and the environment's five responses."""


class TruncatedPair(NamedTuple):
    chosen: dict[str, Any]
    rejected: dict[str, Any]
    is_cut: bool  # True if the rejected side lost an action


def truncate_pair(chosen: dict[str, Any], rejected: dict[str, Any]) -> TruncatedPair | None:
    """Truncates the rejected side to the chosen side's messages plus ten; None if a side has no final action.

    Messages after a trajectory's last action are removed first. If a side has turns, each of which is an
    action, instead of messages, the limit is the chosen side's actions plus five. A side has either messages
    or turns.
    """
    chosen, rejected = _until_last_action(chosen), _until_last_action(rejected)
    if not _action_count(chosen) or not _action_count(rejected):
        return None
    if "messages" in chosen and "messages" in rejected:
        kept = rejected["messages"][: len(chosen["messages"]) + EXTRA_MESSAGES]
        if kept[-1]["role"] != "assistant":
            return None
        truncated = {**rejected, "messages": kept}
    else:
        truncated = _first_actions(rejected, _action_count(chosen) + EXTRA_ACTIONS)
    return TruncatedPair(chosen, truncated, _action_count(truncated) < _action_count(rejected))


def _action_count(trajectory: dict[str, Any]) -> int:
    if "turns" in trajectory:
        return len(trajectory["turns"])
    return sum(message["role"] == "assistant" for message in trajectory["messages"])


def _until_last_action(trajectory: dict[str, Any]) -> dict[str, Any]:
    return _first_actions(trajectory, _action_count(trajectory))


def _first_actions(trajectory: dict[str, Any], count: int) -> dict[str, Any]:
    """Returns the trajectory up to its `count`-th action; all of it if it has fewer."""
    if "turns" in trajectory:
        return {**trajectory, "turns": trajectory["turns"][:count]}
    actions = [i for i, message in enumerate(trajectory["messages"]) if message["role"] == "assistant"]
    end = actions[min(count, len(actions)) - 1] + 1 if actions and count else 0
    return {**trajectory, "messages": trajectory["messages"][:end]}
