"""Reads a dataset of JSON lines: demonstrations and preference pairs as token rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..chat.encoder import ChatEncoder, Message, Segment
from ..failures import bad_input
from ..job import Job
from ..settings import DpoSettings, RftSettings, SftSettings, TargetSettings, TrainSettings
from .json_rows import check_messages, check_turns, describe, json_lines
from .pair_truncation import truncate_pair
from .segments import TruncationCounts, merge_turns
from .thinking import action_mask, mask_thinking, segments_without_earlier_thinking


@dataclass(frozen=True)
class Example:
    """One element of a batch: a demonstration, or a pair of trajectories (dpo, target)."""

    chosen: list[Segment]
    rejected: list[Segment]  # empty for a demonstration
    lambda_dpo: float
    lambda_sft: float  # the weight of a demonstration

    @property
    def longest_row(self) -> int:
        """Tokens of the longest row."""
        return max(len(segment.input_ids) for segment in (*self.chosen, *self.rejected))


def action_count(segments: Sequence[Segment]) -> int:
    """Returns the number of predicted action tokens; no token predicts the first of a row."""
    return sum(sum(segment.action_mask[1:]) for segment in segments)


def total_weight(demonstrations: Iterable[Example]) -> float:
    """Returns the sum of the weights of all action tokens, by which a mean is divided; 1 if all are 0."""
    return sum(e.lambda_sft * action_count(e.chosen) for e in demonstrations) or 1.0


@dataclass(frozen=True)
class Dataset:
    examples: list[Example]
    tokens: int  # in all rows, without padding
    segments: int
    truncation: TruncationCounts = field(default_factory=TruncationCounts)
    rejected: int = 0
    """Attempts with a reward below `success_reward`."""

    @property
    def truncated(self) -> int:
        """Rows that were truncated."""
        return self.truncation.rows_cut

    def status_fields(self) -> dict[str, object]:
        """Returns the counts that status.json reports."""
        return {
            "truncated": self.truncated,
            "truncation": asdict(self.truncation),
            "rejected": self.rejected,
            "segments": self.segments,
            "examples": len(self.examples),
        }


def read_job_dataset(job: Job, settings: TrainSettings) -> Dataset:
    """Reads the dataset of a job, as its method requires."""
    assert job.base is not None
    assert job.dataset is not None
    return read_dataset(
        job.dataset,
        ChatEncoder.load(job.base),
        pairs=isinstance(settings, DpoSettings),
        demonstrations=isinstance(settings, SftSettings | TargetSettings),
        max_length=job.max_length,
        pair_truncation=settings.pair_truncation if isinstance(settings, DpoSettings) else "none",
        success_reward=settings.success_reward if isinstance(settings, RftSettings) else 0.0,
        thinking=settings.thinking,
        max_lost_actions=settings.max_lost_actions,
    )


def read_dataset(
    path: Path,
    encoder: ChatEncoder,
    *,
    pairs: bool,
    demonstrations: bool,
    max_length: int,
    pair_truncation: str = "none",
    success_reward: float = 0.0,
    thinking: str = "train",
    max_lost_actions: float | None = None,
) -> Dataset:
    """Reads demonstrations, pairs of trajectories, or both, as token rows of at most `max_length`.

    Messages with `thinking: drop` were read by the policy without the thinking of earlier actions. With
    `thinking` = mask no thinking is trained on. An answer with thinking has its `action` beside it.

    A row with `chosen` or `rejected` is a pair; any other is a demonstration. Examples without an action
    after truncation, and those with a `reward` below `success_reward`, are dropped and counted; a row without
    a reward is an expert trajectory.

    Raises:
        JobFailure: `bad-input` with line and field; also for a trajectory without any action. `lost-actions`
            if the truncation excludes a larger share of the actions than `max_lost_actions`.
    """
    reader = _Reader(encoder, max_length, masks_thinking=thinking == "mask")
    examples: list[Example] = []
    rejected = 0
    for location, row in json_lines(path):
        if _reward(location, row) < success_reward:
            rejected += 1
            continue
        is_pair = "chosen" in row or "rejected" in row
        if not (pairs if is_pair else demonstrations):
            raise bad_input(location, describe(row), "a pair" if pairs else "a trajectory")
        example = (
            reader.pair(location, row, pair_truncation) if is_pair else reader.demonstration(location, row)
        )
        if example is None:
            reader.truncation.examples_dropped += 1
        else:
            examples.append(example)
    reader.truncation.require_actions("dataset", max_length, max_lost_actions)
    if not examples:
        dropped = reader.truncation.examples_dropped
        found = f"no action token in the first {max_length} tokens of {dropped} rows" if dropped else "no row"
        if rejected:
            found += f" ({rejected} with a reward below {success_reward:g} were rejected)"
        expected = "at least one; a larger max_length would keep them" if dropped else "at least one"
        raise bad_input("dataset", f"{found} in {path}", expected)
    rows = [segment for e in examples for segment in (*e.chosen, *e.rejected)]
    return Dataset(examples, sum(len(r.input_ids) for r in rows), len(rows), reader.truncation, rejected)


def read_texts(path: Path) -> Iterator[str]:
    """Yields every message of the dataset as the tokenizer is trained on it: role, newline, content."""
    for location, row in json_lines(path):
        trajectories = [row[side] for side in ("chosen", "rejected") if side in row] or [row]
        for trajectory in trajectories:
            for message in check_messages(location, trajectory):
                yield message_text(message)


def message_text(message: dict[str, Any]) -> str:
    """Returns a message as the tokenizer is trained on it."""
    return f"{message['role']}\n{message['content']}"


class _Reader:
    """Converts rows to examples and counts the truncated data."""

    def __init__(self, encoder: ChatEncoder, max_length: int, *, masks_thinking: bool) -> None:
        self.encoder, self.max_length, self.truncation = encoder, max_length, TruncationCounts()
        self.masks_thinking = masks_thinking

    def demonstration(self, location: str, row: dict[str, Any]) -> Example | None:
        weight = _weight(location, row, "weight") if "weight" in row else 1.0
        segments = self._segments(location, row)
        return Example(segments, [], 0.0, weight) if segments else None

    def pair(self, location: str, row: dict[str, Any], pair_truncation: str) -> Example | None:
        sides = {side: row.get(side) for side in ("chosen", "rejected")}
        for side, trajectory in sides.items():
            self._check_trajectory(f"{location}.{side}", trajectory)
        lambdas = [_weight(location, row, name) for name in ("lambda_dpo", "lambda_sft")]
        if pair_truncation == "eto":
            truncated = truncate_pair(*sides.values())  # type: ignore[arg-type]
            if truncated is None:
                return None
            self.truncation.pairs_cut += truncated.is_cut
            sides = {"chosen": truncated.chosen, "rejected": truncated.rejected}
        chosen, rejected = (self._segments(f"{location}.{side}", given) for side, given in sides.items())
        return Example(chosen, rejected, *lambdas) if chosen and rejected else None

    def _segments(self, location: str, trajectory: Any) -> list[Segment]:
        self._check_trajectory(location, trajectory)
        segments = self._rows(trajectory, masked=False)
        if not any(any(segment.action_mask[1:]) for segment in segments):
            raise bad_input(location, "no action token", "an action to train on")
        if self.masks_thinking:
            segments = self._rows(trajectory, masked=True)
        return self.truncation.truncate(segments, self.max_length)

    def _rows(self, trajectory: dict[str, Any], *, masked: bool) -> list[Segment]:
        decode = self.encoder.decode
        if "turns" in trajectory:
            turns = trajectory["turns"]
            return (
                merge_turns(turns, lambda turn: action_mask(turn, decode)) if masked else merge_turns(turns)
            )
        messages, tools = trajectory["messages"], trajectory.get("tools", [])
        if trajectory.get("thinking") == "drop":
            return segments_without_earlier_thinking(self.encoder, messages, tools, masked=masked)
        plain = [Message(role=message["role"], content=message["content"]) for message in messages]
        row = self.encoder.segment(plain, tools)
        actions = [message.get("action") for message in messages if message["role"] == "assistant"]
        return [mask_thinking(row, decode, actions) if masked else row]

    def _check_trajectory(self, location: str, trajectory: Any) -> None:
        if not isinstance(trajectory, dict) or ("turns" in trajectory) == ("messages" in trajectory):
            raise bad_input(location, describe(trajectory), "a trajectory with either messages or turns")
        if "messages" in trajectory:
            check_messages(location, trajectory)
            if trajectory.get("thinking", "drop") != "drop":
                raise bad_input(f"{location}.thinking", repr(trajectory["thinking"]), "drop, or nothing")
            tools = trajectory.get("tools", [])
            if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
                raise bad_input(f"{location}.tools", describe(tools), "a list of functions")
        else:
            check_turns(location, trajectory["turns"], self.encoder.vocabulary_size)


def _weight(location: str, row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise bad_input(f"{location}.{name}", repr(value), "a number >= 0")
    return float(value)


def _reward(location: str, row: dict[str, Any]) -> float:
    value = row.get("reward")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise bad_input(f"{location}.reward", repr(value), "a number from 0 to 1, or nothing")
    return float(value)
