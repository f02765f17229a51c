"""Progress, divergence, stop signal and checkpoints of a job, from within Trainer's loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

from transformers import TrainerCallback

from ..failures import JobFailure
from ..files.atomic_files import canonical_json
from ..files.disk_space import BYTES_PER_WEIGHT, require_free_space
from ..job import Job
from ..process_group import ProcessGroup
from ..progress import Progress
from ..settings import TrainSettings
from ..updates.checkpoint import Cursor
from ..updates.checkpoint_write import CheckpointWrite
from ..updates.checkpoint_writer import BACKGROUND_BYTES
from ..updates.divergence import DivergenceDetector
from ..updates.meter import Meter
from ..updates.sharding import require_sharded
from ..updates.update import UpdateTotals
from ..watchdog import Watchdog
from .checkpoint import complete_checkpoint
from .micro_batches import Plan


@dataclass(frozen=True)
class JobContext:
    """What a process of a job is given."""

    job: Job
    settings: TrainSettings
    job_dir: Path
    progress: Progress
    process_group: ProcessGroup
    stop: Event

    @cached_property
    def watchdog(self) -> Watchdog:
        return Watchdog(self.settings.stall_timeout_s, self.progress.report_failure)

    @cached_property
    def checkpoint_write(self) -> CheckpointWrite:
        return CheckpointWrite(self.progress)

    @cached_property
    def background(self) -> ProcessGroup:
        """A process group for the thread that writes checkpoints."""
        return self.process_group.for_background()

    @property
    def checkpoints(self) -> Path:
        return self.job_dir / "checkpoints"


class JobCallback(TrainerCallback):  # type: ignore[misc]
    """Called on every process; rank zero writes. A failure raised here ends the training."""

    def __init__(
        self,
        context: JobContext,
        cursor: Cursor,
        meter: Meter,
        *,
        plan: Plan,
        trained: int,
        take_pair_sums: Callable[[], dict[str, tuple[float, float]]],
    ) -> None:
        """`trained` is the number of trained parameters; `take_pair_sums` returns an update's metrics."""
        self._context, self.cursor, self.meter = context, cursor, meter
        self._plan, self._total = plan, len(plan.updates)
        self._checkpoint_bytes = 3 * trained * BYTES_PER_WEIGHT
        self._take_pair_sums = take_pair_sums
        self._divergence = DivergenceDetector(cursor.divergence, nonnegative=True)
        self._losses: list[float] = []  # one per update since the newest checkpoint
        self._stopped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if self._context.settings.sharding == "fsdp":
            require_sharded(model, self._context.settings.processes)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._context.watchdog.reset()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._context.watchdog.reset()
        control.should_log = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if "loss" not in logs:
            return  # the summary at the end
        state.log_history.clear()  # each checkpoint would repeat it; progress.jsonl has the lines
        self._count(logs)
        settings, step = self._context.settings, self.cursor.step
        if settings.is_enough(self.cursor.losses):
            self._total, control.should_training_stop = step, True
        if step % settings.log_every == 0 or step == self._total:
            self._log(logs["learning_rate"])
        write = self._context.checkpoint_write
        self._stopped = write.poll(self._context.process_group, self._context.stop)
        # A job must not resume from a state that may be diverging
        is_due = step % settings.checkpoint_every == 0 and not self._divergence.is_suspicious
        if is_due or self._stopped:
            write.finish()
            self._context.process_group.on_rank_zero(self._require_space)
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Publishes the checkpoint of which every process has written its files, beside the next updates.

        Trainer has written them without a sync; to sync and to hash them takes about as long.
        """
        context, cursor = self._context, self.cursor
        cursor.seconds = context.progress.seconds
        cursor.mean_loss = sum(self._losses) / len(self._losses) if self._losses else math.inf
        context.process_group.all_gather(lambda: None)
        key, step, position = context.job.checkpoint_key(), cursor.step, canonical_json(vars(cursor))

        def publish() -> bool:
            return context.background.on_rank_zero(
                lambda: complete_checkpoint(context.checkpoints, key, step, position)
            )

        is_last = self._stopped or step == self._total
        if is_last or self._checkpoint_bytes < BACKGROUND_BYTES:
            context.checkpoint_write.run(step, publish)
        else:
            context.checkpoint_write.start(step, publish)
        self._losses = []
        context.watchdog.reset()
        if self._stopped and cursor.step < self._total:
            raise JobFailure("cancelled", f"stopped after update {cursor.step} of {self._total}")

    def _count(self, logs: dict[str, float]) -> None:
        """Adds an update to the meter and the cursor; raises `diverged`."""
        step, loss, norm = self.cursor.step + 1, logs["loss"], logs["grad_norm"]
        self._divergence.check(step, loss, norm)
        tokens, computed = self._plan.tokens(step - 1)
        self.meter.add(UpdateTotals(loss, tokens, computed, self._take_pair_sums(), {}), norm)
        self._losses.append(loss)
        self.cursor.count(loss, tokens)

    def _log(self, learning_rate: float) -> None:
        step = self.cursor.step
        self._context.progress.log_step(
            step=step,
            total_steps=self._total,
            learning_rate=learning_rate,
            tokens=self.cursor.tokens,
            micro_batch_tokens=self._context.settings.micro_batch_tokens,
            epoch=step / self._plan.per_epoch,
            **self.meter.read(self._total - step),
        )

    def _require_space(self) -> None:
        """Trainer would fail in the middle of a file: weights and two moments, then the reserve."""
        reserve = self._context.settings.reserve_disk_bytes
        require_free_space(self._context.checkpoints, self._checkpoint_bytes + reserve)
