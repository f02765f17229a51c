"""Reads one batch of rollouts for an RL update; every error has its line and field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor

from ..chat.encoder import ChatEncoder, Segment
from ..failures import bad_input
from .json_rows import check_turns, describe, json_lines
from .segments import TruncationCounts, merge_turns
from .thinking import action_mask

FLOAT32_MAX = 3.4e38
SCORE_RANGES = {"advantage": (-math.inf, math.inf), "reward": (0.0, 1.0)}


@dataclass(frozen=True)
class RolloutBatch:
    """B trajectories as S token rows with N action tokens, trajectory by trajectory."""

    segments: list[Segment]  # S
    token_ranges: list[range]  # S: each row's range among the N action tokens
    old_logp: Tensor  # [N] nats, recorded when the token was sampled
    trajectory: Tensor  # [N] trajectory of each action token
    group: Tensor  # [B] group of each trajectory, numbered from 0
    score: Tensor  # [B] advantage, or reward
    truncation: TruncationCounts

    @property
    def token_count(self) -> int:
        """Tokens of all rows, without padding."""
        return sum(len(segment.input_ids) for segment in self.segments)


def read_rollouts(
    path: Path,
    encoder: ChatEncoder,
    *,
    name: str,
    score: str,
    max_length: int,
    thinking: str = "train",
    max_lost_actions: float | None = None,
) -> RolloutBatch:
    """Reads the rollouts of one update. `score` is the field that each row has: advantage or reward.

    Rows are truncated at `max_length` tokens; PPO's reward then belongs to the last remaining action token.
    With `thinking` = mask, thinking is not trained on. A rollout without an action in that length, or of
    thinking alone, is left out and counted.

    Raises:
        JobFailure: `bad-input` with `name`, line and field, or when no rollout remains; `lost-actions` if the
            truncation excludes a larger share of the actions than `max_lost_actions`.
    """
    vocabulary_size = encoder.vocabulary_size
    segments: list[Segment] = []
    owners: list[int] = []
    group_ids: dict[str, int] = {}
    group_of: dict[str, int] = {}
    scores: list[float] = []
    truncation = TruncationCounts()
    for location, row in json_lines(path, name):
        trajectory = _string(location, row, "trajectory_id")
        if trajectory in group_of:
            raise bad_input(f"{location}.trajectory_id", repr(trajectory), "an id of no earlier line")
        turns = check_turns(location, row.get("turns"), vocabulary_size)
        _check_logprobs(location, turns)
        rows = merge_turns(turns)
        if not any(any(row.action_mask[1:]) for row in rows):
            raise bad_input(f"{location}.turns", "no action token", "an action to train on")
        if thinking == "mask":
            rows = merge_turns(turns, lambda turn: action_mask(turn, encoder.decode))
        kept = truncation.truncate(rows, max_length)
        if not kept:
            truncation.examples_dropped += 1
            continue
        owners += [len(scores)] * len(kept)
        segments += kept
        scores.append(_score(location, row, score))
        group_of[trajectory] = group_ids.setdefault(_string(location, row, "group"), len(group_ids))
    truncation.require_actions(name, max_length, max_lost_actions)
    if not scores:
        if dropped := truncation.examples_dropped:
            found = f"no action token in the first {max_length} tokens of {dropped} rollouts"
            raise bad_input(name, found, "at least one; a larger max_length may keep some")
        raise bad_input(name, f"no row in {path}", "at least one")
    return _batch(segments, owners, list(group_of.values()), scores, truncation)


def _batch(
    segments: list[Segment],
    owners: list[int],
    groups: list[int],
    scores: list[float],
    truncation: TruncationCounts,
) -> RolloutBatch:
    old_logp: list[float] = []
    trajectory: list[int] = []
    token_ranges: list[range] = []
    for owner, segment in zip(owners, segments, strict=True):
        assert segment.old_logp is not None
        # No token predicts the token at position 0
        columns = zip(segment.action_mask[1:], segment.old_logp[1:], strict=True)
        action_logp = [logp for is_action, logp in columns if is_action]
        token_ranges.append(range(len(old_logp), len(old_logp) + len(action_logp)))
        old_logp += action_logp
        trajectory += [owner] * len(action_logp)
    return RolloutBatch(
        segments=segments,
        token_ranges=token_ranges,
        old_logp=torch.tensor(old_logp),
        trajectory=torch.tensor(trajectory),
        group=torch.tensor(groups),
        score=torch.tensor(scores),
        truncation=truncation,
    )


def _check_logprobs(location: str, turns: list[Any]) -> None:
    for index, turn in enumerate(turns):
        logprobs, count = turn.get("logprobs"), len(turn["token_ids"])
        are_numbers = isinstance(logprobs, list) and all(_is_finite(value) for value in logprobs)
        if not are_numbers or len(logprobs) != count:
            found = "nothing" if logprobs is None else describe(logprobs)
            expected = f"{count} finite numbers, one for each of token_ids"
            raise bad_input(f"{location}.turns[{index}].logprobs", found, expected)


def _score(location: str, row: dict[str, Any], name: str) -> float:
    low, high = SCORE_RANGES[name]
    value = row.get(name)
    if not _is_finite(value) or not low <= value <= high:
        expected = "a finite number" if high == math.inf else f"a number from {low:g} to {high:g}"
        raise bad_input(f"{location}.{name}", repr(value), expected)
    return float(value)


def _string(location: str, row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise bad_input(f"{location}.{name}", repr(value), "a non-empty string")
    return value


def _is_finite(value: Any) -> TypeGuard[float]:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and abs(value) <= FLOAT32_MAX
