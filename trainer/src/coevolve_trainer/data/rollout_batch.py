"""Reads one batch of rollouts for a reinforcement learning update; every fault names its line and field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor

from ..chat.encoder import ChatEncoder, Segment
from ..failures import bad_input
from .dataset import checked_steps, json_lines, kind_of
from .segments import cut_to_length, merge_steps

FLOAT32_MAX = 3.4e38
SCORES = {"advantage": (-math.inf, math.inf), "reward": (0.0, 1.0)}


@dataclass(frozen=True)
class RolloutBatch:
    """B trajectories as S token rows with N action tokens, trajectory by trajectory."""

    segments: list[Segment]  # S
    places: list[range]  # S: which of the N action tokens each row holds
    old_logp: Tensor  # [N] nats, recorded when the token was sampled
    trajectory: Tensor  # [N] trajectory of each action token
    group: Tensor  # [B] group of each trajectory, numbered from 0
    score: Tensor  # [B] advantage, or reward
    truncated: int

    @property
    def tokens(self) -> int:
        """All rows, without padding."""
        return sum(len(segment.input_ids) for segment in self.segments)


def read_rollouts(
    path: Path, encoder: ChatEncoder, *, name: str, score: str, max_length: int
) -> RolloutBatch:
    """Reads the rollouts of one update. `score` is the field that each row brings: advantage or reward.

    Rows are cut at `max_length` tokens; what is left is the trajectory, and PPO's reward comes at its end.

    Raises:
        JobFailure: `bad-input`, naming line and field, both after `name`.
    """
    vocabulary = encoder.tokenizer.get_vocab_size()
    segments: list[Segment] = []
    owners: list[int] = []
    groups: dict[str, int] = {}
    group_of: dict[str, int] = {}
    scores: list[float] = []
    truncated = 0
    for where, row in json_lines(path, name):
        trajectory = _text(where, row, "trajectory_id")
        if trajectory in group_of:
            raise bad_input(f"{where}.trajectory_id", repr(trajectory), "one that no line before it has")
        steps = checked_steps(where, row.get("steps"), vocabulary)
        _check_logprobs(where, steps)
        cut = cut_to_length(merge_steps(steps), max_length)
        if not cut.segments:
            found = f"no action token in the first {max_length} tokens"
            raise bad_input(f"{where}.steps", found, "an action to learn from")
        owners += [len(scores)] * len(cut.segments)
        segments += cut.segments
        truncated += cut.truncated
        scores.append(_score(where, row, score))
        group_of[trajectory] = groups.setdefault(_text(where, row, "group"), len(groups))
    if not scores:
        raise bad_input(name, f"no row in {path}", "at least one")
    return _batch(segments, owners, list(group_of.values()), scores, truncated)


def _batch(
    segments: list[Segment], owners: list[int], groups: list[int], scores: list[float], truncated: int
) -> RolloutBatch:
    old_logp: list[float] = []
    trajectory: list[int] = []
    places: list[range] = []
    for owner, segment in zip(owners, segments, strict=True):
        assert segment.old_logp is not None
        # The token at position 0 has nothing before it that could predict it
        columns = zip(segment.action_mask[1:], segment.old_logp[1:], strict=True)
        spoken = [logp for acted, logp in columns if acted]
        places.append(range(len(old_logp), len(old_logp) + len(spoken)))
        old_logp += spoken
        trajectory += [owner] * len(spoken)
    return RolloutBatch(
        segments=segments,
        places=places,
        old_logp=torch.tensor(old_logp),
        trajectory=torch.tensor(trajectory),
        group=torch.tensor(groups),
        score=torch.tensor(scores),
        truncated=truncated,
    )


def _check_logprobs(where: str, steps: list[Any]) -> None:
    for index, step in enumerate(steps):
        logprobs, count = step.get("logprobs"), len(step["token_ids"])
        numbers = isinstance(logprobs, list) and all(_is_finite(value) for value in logprobs)
        if not numbers or len(logprobs) != count:
            found = "nothing" if logprobs is None else kind_of(logprobs)
            expected = f"{count} finite numbers, one for each of token_ids"
            raise bad_input(f"{where}.steps[{index}].logprobs", found, expected)


def _score(where: str, row: dict[str, Any], name: str) -> float:
    low, high = SCORES[name]
    value = row.get(name)
    if not _is_finite(value) or not low <= value <= high:
        expected = "a finite number" if high == math.inf else f"a number from {low:g} to {high:g}"
        raise bad_input(f"{where}.{name}", repr(value), expected)
    return float(value)


def _text(where: str, row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise bad_input(f"{where}.{name}", repr(value), "a text")
    return value


def _is_finite(value: Any) -> TypeGuard[float]:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and abs(value) <= FLOAT32_MAX
