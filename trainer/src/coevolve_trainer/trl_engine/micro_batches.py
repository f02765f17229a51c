"""Divides every update into micro-batches: the same number on every process and in every update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..chat.encoder import Segment
from ..data.dataset import Example
from ..data.epoch_batches import plan_epoch
from ..settings import TrainSettings


@dataclass(frozen=True)
class MicroBatch:
    examples: tuple[int, ...]
    """Indices of examples; none fills up a process that has fewer than the others."""
    update: int
    """Number of the update, from 0."""


@dataclass(frozen=True)
class Plan:
    """All updates of a job. Trainer needs equal numbers of passes per update; shorter ones are filled up."""

    examples: Sequence[Example]
    updates: list[list[int]]
    """The examples of each update, in the order of the builtin engine."""
    micro_batches: list[list[tuple[int, ...]]]
    """The micro-batches of each update, for all processes."""
    per_epoch: int
    passes: int
    """Forward passes per process and update."""

    def tokens(self, update: int) -> tuple[int, int]:
        """Returns the tokens of an update in all rows, and those that a pass computes, with padding."""
        trained = sum(len(row.input_ids) for i in self.updates[update] for row in _rows(self.examples[i]))
        computed = 0
        for indices in self.micro_batches[update]:
            lengths = [len(row.input_ids) for i in indices for row in _rows(self.examples[i])]
            computed += len(lengths) * max(lengths)
        return trained, computed

    def of_rank(self, rank: int, processes: int) -> list[MicroBatch]:
        """Returns the micro-batches of a process: `passes` for every update, in order."""
        local: list[MicroBatch] = []
        for update, micro_batches in enumerate(self.micro_batches):
            own = micro_batches[rank::processes]
            own += [()] * (self.passes - len(own))
            local += [MicroBatch(examples, update) for examples in own]
        return local


def plan_updates(examples: Sequence[Example], settings: TrainSettings, seed: int) -> Plan:
    """Returns the plan of all updates; a pure function, so that a resumed job agrees."""
    longest = [example.longest_row for example in examples]
    per_epoch = math.ceil(len(examples) / settings.batch_size)
    total = settings.total_updates(per_epoch)
    updates = [
        batch
        for epoch in range(math.ceil(total / per_epoch))
        for batch in plan_epoch(longest, settings.batch_size, seed=seed, epoch=epoch)
    ][:total]
    micro_batches = [split_evenly(examples, batch, settings) for batch in updates]
    passes = max(math.ceil(len(parts) / settings.processes) for parts in micro_batches)
    return Plan(examples, updates, micro_batches, per_epoch, passes)


def split_evenly(
    examples: Sequence[Example], batch: Sequence[int], settings: TrainSettings
) -> list[tuple[int, ...]]:
    """Splits a batch as `split`, if possible into at least one micro-batch per process."""
    max_tokens = settings.micro_batch_tokens
    parts = split(examples, batch, max_tokens)
    while len(parts) < min(settings.processes, len(batch)):
        max_tokens //= 2
        parts = split(examples, batch, max_tokens)
    return parts


def split(examples: Sequence[Example], batch: Sequence[int], max_tokens: int) -> list[tuple[int, ...]]:
    """Returns micro-batches of at most `max_tokens`, padding included; a larger example is alone.

    Neighbors in length are together, so that there is little padding.
    """
    parts: list[list[int]] = []
    row_count = 0
    for i in sorted(batch, key=lambda i: examples[i].longest_row):
        rows = len(_rows(examples[i]))
        row_count += rows
        if parts and row_count * examples[i].longest_row <= max_tokens:
            parts[-1].append(i)
        else:
            parts.append([i])
            row_count = rows
    return [tuple(part) for part in parts]


def _rows(example: Example) -> list[Segment]:
    return [*example.chosen, *example.rejected]
