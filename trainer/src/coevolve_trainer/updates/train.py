"""The training loop over a dataset, top to bottom on one screen."""

from __future__ import annotations

import math
from typing import Any

from ..data.epoch_batches import plan_epoch
from ..failures import JobFailure
from ..settings import TrainSettings
from .objective import Objective
from .trainer import Session


def train(
    session: Session,
    settings: TrainSettings,
    objective: Objective[list[int], Any],
    lengths: list[int],
    action_share: float,
) -> None:
    """Makes every update of the job that its newest checkpoint does not hold.

    `lengths` holds the row length of every example; a batch holds indices of examples. `action_share` is how
    much of their tokens is action.

    Raises:
        JobFailure: `diverged`, `out-of-memory`, `disk-full`; `cancelled` when the session is told to stop.
    """
    per_epoch = math.ceil(len(lengths) / settings.batch_size)
    total = per_epoch * settings.epochs
    session.load(total)
    session.measure_flops(sum(lengths) / len(lengths), action_share)
    cursor, plan = session.cursor, list[list[int]]()
    while cursor.step < total:
        epoch, position = divmod(cursor.step, per_epoch)
        if position == 0 or not plan:
            plan = plan_epoch(lengths, settings.batch_size, seed=session.job.seed, epoch=epoch)
        session.learner.optimizer.param_groups[0]["lr"] = learning_rate(cursor.step, total, settings)
        session.update(objective, plan[position])

        if cursor.step % settings.log_every == 0 or cursor.step == total:
            read = session.meter.read(total - cursor.step)
            session.tell(total, {"epoch": cursor.step / per_epoch, **read})
        stopping = session.is_stopping()
        # A loss under suspicion is none to go back to
        due = cursor.step % settings.checkpoint_every == 0 and not session.divergence.is_suspected
        if due or stopping:
            session.commit()
        if stopping and cursor.step < total:
            raise JobFailure("cancelled", f"stopped after update {cursor.step} of {total}")


def learning_rate(step: int, total: int, settings: TrainSettings) -> float:
    """Rate of update `step` (from 0): linear warm-up to the peak, then cosine to 0 or constant."""
    warmup = max(1, round(settings.warmup_fraction * total))
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))
