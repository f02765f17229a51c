"""Reads a dataset of JSON lines; every fault names its line and field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..chat.encoder import ChatEncoder, Segment
from ..failures import bad_input
from .pair_truncation import shorten_pair
from .segments import cut_to_length, merge_steps


@dataclass(frozen=True)
class Example:
    """One unit of a batch: a demonstration, or a pair of trajectories (dpo, target)."""

    chosen: list[Segment]
    rejected: list[Segment]  # empty for a demonstration
    lambda_dpo: float
    lambda_sft: float  # the weight of a demonstration


@dataclass
class Truncation:
    """What was not learnt from, because a row was too long or `pair_truncation` said so."""

    rows_cut: int = 0
    tokens_dropped: int = 0
    actions_dropped: int = 0  # lost, or cut short
    pairs_cut: int = 0  # pairs whose rejected side `pair_truncation` shortened
    examples_dropped: int = 0  # demonstrations and pairs of which no action was left, or that ETO drops


@dataclass(frozen=True)
class Dataset:
    examples: list[Example]
    tokens: int  # all rows, without padding
    segments: int
    truncation: Truncation = field(default_factory=Truncation)
    rejected: int = 0
    """Attempts that fell short of `success_reward`."""

    @property
    def truncated(self) -> int:
        """Rows that were cut."""
        return self.truncation.rows_cut


def read_texts(path: Path) -> Iterator[str]:
    """Every message of the dataset as the tokenizer will see it: role, newline, content."""
    for where, row in json_lines(path):
        trajectories = [row[side] for side in ("chosen", "rejected") if side in row] or [row]
        for trajectory in trajectories:
            for message in _messages(where, trajectory):
                yield f"{message['role']}\n{message['content']}"


def read_dataset(
    path: Path,
    encoder: ChatEncoder,
    *,
    pairs: bool,
    demonstrations: bool,
    max_length: int,
    pair_truncation: str = "none",
    success_reward: float = 0.0,
) -> Dataset:
    """Reads demonstrations, pairs of trajectories, or both, as token rows of at most `max_length`.

    A row with `chosen` or `rejected` is a pair; any other is a demonstration. `target` takes both. An example
    of which truncation leaves no action is dropped and counted, and so is one with a `reward` below
    `success_reward`; one without a reward is an expert's.

    Raises:
        JobFailure: `bad-input`, naming line and field; also for a trajectory without any action.
    """
    reader = _Reader(encoder, max_length)
    examples: list[Example] = []
    rejected = 0
    for where, row in json_lines(path):
        if _reward(where, row) < success_reward:
            rejected += 1
            continue
        is_pair = "chosen" in row or "rejected" in row
        if not (pairs if is_pair else demonstrations):
            raise bad_input(where, kind_of(row), "a pair" if pairs else "a trajectory")
        read = reader.pair(where, row, pair_truncation) if is_pair else reader.demonstration(where, row)
        if read is None:
            reader.lost.examples_dropped += 1
        else:
            examples.append(read)
    if not examples:
        dropped = reader.lost.examples_dropped
        found = f"no action token in the first {max_length} tokens of {dropped} rows" if dropped else "no row"
        if rejected:
            found += f" (beside {rejected} with a reward below {success_reward:g})"
        raise bad_input("dataset", f"{found} in {path}", "at least one")
    rows = [segment for e in examples for segment in (*e.chosen, *e.rejected)]
    return Dataset(examples, sum(len(r.input_ids) for r in rows), len(rows), reader.lost, rejected)


class _Reader:
    """Reads examples, and counts what truncation loses of them."""

    def __init__(self, encoder: ChatEncoder, max_length: int) -> None:
        self.encoder, self.max_length, self.lost = encoder, max_length, Truncation()

    def demonstration(self, where: str, row: dict[str, Any]) -> Example | None:
        weight = _weight(where, row, "weight") if "weight" in row else 1.0
        rows = self._rows(where, row)
        return Example(rows, [], 0.0, weight) if rows else None

    def pair(self, where: str, row: dict[str, Any], pair_truncation: str) -> Example | None:
        sides = {side: row.get(side) for side in ("chosen", "rejected")}
        for side, trajectory in sides.items():
            _check_trajectory(f"{where}.{side}", trajectory, self.encoder)
        lambdas = [_weight(where, row, name) for name in ("lambda_dpo", "lambda_sft")]
        if pair_truncation == "eto":
            short = shorten_pair(*sides.values())  # type: ignore[arg-type]
            if short is None:
                return None
            self.lost.pairs_cut += short.cut
            sides = {"chosen": short.chosen, "rejected": short.rejected}
        chosen, rejected = (self._rows(f"{where}.{side}", given) for side, given in sides.items())
        return Example(chosen, rejected, *lambdas) if chosen and rejected else None

    def _rows(self, where: str, trajectory: Any) -> list[Segment]:
        segments = _segments(where, trajectory, self.encoder)
        if not any(any(segment.action_mask[1:]) for segment in segments):
            found = f"no action token in the first {self.max_length} tokens"
            raise bad_input(where, found, "an action to learn from")
        cut = cut_to_length(segments, self.max_length)
        self.lost.rows_cut += cut.truncated
        self.lost.tokens_dropped += cut.tokens
        self.lost.actions_dropped += cut.actions
        return cut.segments


def json_lines(path: Path, name: str = "dataset") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a .jsonl file with the words that name its place."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            where = f"{name} line {number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise bad_input(where, f"no JSON ({error})", "one JSON object per line") from None
            if not isinstance(row, dict):
                raise bad_input(where, type(row).__name__, "an object")
            yield where, row


def _segments(where: str, trajectory: Any, encoder: ChatEncoder) -> list[Segment]:
    _check_trajectory(where, trajectory, encoder)
    if "messages" in trajectory:
        return [encoder.segment(trajectory["messages"])]
    return merge_steps(trajectory["steps"])


def _check_trajectory(where: str, trajectory: Any, encoder: ChatEncoder) -> None:
    if not isinstance(trajectory, dict) or ("steps" in trajectory) == ("messages" in trajectory):
        raise bad_input(where, kind_of(trajectory), "a trajectory with either messages or steps")
    if "messages" in trajectory:
        _messages(where, trajectory)
    else:
        checked_steps(where, trajectory["steps"], encoder.tokenizer.get_vocab_size())


def checked_steps(where: str, steps: Any, vocabulary: int) -> list[Any]:
    """Steps with token ids below `vocabulary`; raises `bad-input` naming the step and the field."""
    if not isinstance(steps, list):
        raise bad_input(f"{where}.steps", type(steps).__name__, "a list")
    for index, step in enumerate(steps):
        for name in ("prompt_token_ids", "token_ids"):
            ids = step.get(name) if isinstance(step, dict) else None
            if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < vocabulary for i in ids):
                expected = f"a list of ids below {vocabulary}"
                raise bad_input(f"{where}.steps[{index}].{name}", kind_of(ids), expected)
    return steps


def _messages(where: str, trajectory: Any) -> list[Any]:
    messages = trajectory.get("messages") if isinstance(trajectory, dict) else None
    if not isinstance(messages, list) or not messages:
        raise bad_input(f"{where}.messages", kind_of(messages), "a list of messages")
    for index, message in enumerate(messages):
        for name in ("role", "content"):
            if not isinstance(message, dict) or not isinstance(message.get(name), str):
                raise bad_input(f"{where}.messages[{index}].{name}", kind_of(message), "a string")
    return messages


def _weight(where: str, row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise bad_input(f"{where}.{name}", repr(value), "a number >= 0")
    return float(value)


def _reward(where: str, row: dict[str, Any]) -> float:
    value = row.get("reward")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise bad_input(f"{where}.reward", repr(value), "a number from 0 to 1, or nothing")
    return float(value)


def kind_of(value: Any) -> str:
    """What an error message says it found."""
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(value)) or 'no key'}"
    return f"a list of {len(value)}" if isinstance(value, list) else repr(value)
