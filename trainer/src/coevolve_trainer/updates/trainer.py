"""The state of a running training job, common to all methods: train state, checkpoints, progress."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import torch
from torch import Tensor

from ..distributed import device_of
from ..files.policy_files import write_manifest
from ..job import Job
from ..models.compute_path import resolve_compute
from ..models.cost import flops_per_token
from ..models.policy import parameter_count, save_policy
from ..process_group import ProcessGroup
from ..progress import Progress
from ..settings import RlSettings, TrainSettings
from ..watchdog import Watchdog
from .checkpoint import Cursor
from .checkpoint_writer import CheckpointWriter
from .divergence import DivergenceDetector
from .job_space import require_space_for_job
from .meter import Meter
from .micro_batch_size import MicroBatchSize
from .objective import B, M, Objective
from .resume import read_newest_checkpoint, restore_train_state
from .saved_state import SavedState
from .train_state import TrainState
from .update import UpdateTotals, make_update


class Trainer:
    """One process of a training job. It starts from the newest checkpoint, if there is one."""

    train_state: TrainState
    meter: Meter

    def __init__(
        self,
        job: Job,
        settings: TrainSettings | RlSettings,
        job_dir: Path,
        *,
        progress: Progress,
        process_group: ProcessGroup,
        stop: Event,
    ) -> None:
        self.job, self.job_dir = job, job_dir
        self.progress, self.process_group, self.stop = progress, process_group, stop
        self.device = configure_torch(settings)
        assert job.base is not None
        self.settings = settings = resolve_compute(settings, self.device, job.base)
        self.watchdog = Watchdog(settings.stall_timeout_s, progress.report_failure)
        process_group.on_pass = self.watchdog.reset
        self.checkpoints = job_dir / "checkpoints"
        process_group.on_rank_zero(lambda: self.checkpoints.mkdir(exist_ok=True))
        self._checkpoint = read_newest_checkpoint(
            self.checkpoints, job.checkpoint_key(), process_group, progress.log_damage
        )
        self.checkpoint_writer = CheckpointWriter(
            self.checkpoints,
            job.checkpoint_key(),
            progress,
            process_group,
            reserve_bytes=settings.reserve_disk_bytes,
        )
        start = Cursor(micro_batch_tokens=settings.micro_batch_tokens)
        self.cursor = self._checkpoint.cursor if self._checkpoint else start
        self.micro_batch_size = MicroBatchSize(
            self.cursor.micro_batch_tokens,
            may_halve=process_group.size == 1 or settings.sharding != "fsdp",
            on_halved=self._report_halved_size,
        )
        self.divergence = DivergenceDetector(
            self.cursor.divergence, nonnegative=isinstance(settings, TrainSettings)
        )
        self._losses: list[float] = []  # one per update since the newest checkpoint

    def load(self, total_steps: int, handed_over: SavedState | None = None) -> None:
        """Loads the train state from the checkpoint, or the initial one with the state `handed_over`.

        Raises:
            JobFailure: `disk-full` when the job's files will not fit.
        """
        self.train_state = train_state = restore_train_state(
            self.job,
            self.settings,
            self._checkpoint,
            handed_over,
            device=self.device,
            process_group=self.process_group,
        )
        self._checkpoint = None  # frees its tensors
        trained = sum(p.numel() for p in train_state.parameters())
        self.process_group.on_rank_zero(
            lambda: require_space_for_job(self.job, self.job_dir, trained, total_steps)
        )
        self.meter = Meter(self.device, processes=self.process_group.size)
        self.progress.earlier_seconds = self.cursor.seconds
        fields = {
            "device": self.device.type,
            "precision": self.settings.precision,
            "engine": self.settings.engine,
            "kernels": self.settings.kernels,
            "sharding": self.settings.sharding,
            "processes": self.process_group.size,
            "parameters": parameter_count(train_state.model),
            "trainable_parameters": trained,
        }
        self.progress.log_event("started", **fields)
        self.progress.update_status(
            **fields,
            step=self.cursor.step,
            total_steps=total_steps,
            tokens=self.cursor.tokens,
            micro_batch_tokens=self.micro_batch_size.tokens,
            gradient_checkpointing="on" if train_state.gradient_checkpointing else "off",
        )
        if self.cursor.step:
            self.progress.log_event("resumed", step=self.cursor.step)

    def update(self, objective: Objective[B, M], batch: B) -> UpdateTotals:
        """Makes the next update."""
        step = self.cursor.step + 1
        totals, norm = make_update(
            step,
            self.train_state,
            objective,
            batch,
            micro_batch_size=self.micro_batch_size,
            divergence=self.divergence,
            max_grad_norm=self.settings.max_grad_norm,
        )
        self.watchdog.reset()
        self.meter.add(totals, norm)
        self._losses.append(totals.loss)
        self.cursor.count(totals.loss, totals.tokens)
        return totals

    def skip_update(self) -> None:
        """Counts the next update without making it: weights and optimizer stay as they are."""
        self.watchdog.reset()
        self._losses.append(0.0)
        self.cursor.count(0.0, 0)

    def log(self, total_steps: int, numbers: Mapping[str, float]) -> None:
        """Writes a progress line with the meter's numbers and the position of the job."""
        self.progress.log_step(
            step=self.cursor.step,
            total_steps=total_steps,
            learning_rate=self.train_state.optimizer.param_groups[0]["lr"],
            tokens=self.cursor.tokens,
            micro_batch_tokens=self.micro_batch_size.tokens,
            **numbers,
        )

    def commit(self, *, updates_wait: bool = False) -> None:
        """Writes a checkpoint: the updates so far will not be computed again once it is reported.

        `updates_wait` is for a checkpoint on which the next action depends.
        """
        cursor = self.cursor
        cursor.seconds, cursor.micro_batch_tokens = self.progress.seconds, self.micro_batch_size.tokens
        cursor.mean_loss = sum(self._losses) / len(self._losses) if self._losses else math.inf
        self.checkpoint_writer.save(self.train_state, cursor, updates_wait=updates_wait)
        self._losses = []
        self.watchdog.reset()

    def should_stop(self) -> bool:
        """Returns whether any process received SIGTERM; collective, and settles a written checkpoint."""
        return self.checkpoint_writer.poll(self.process_group, self.stop)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs the watchdog until the block ends; a failure leaves no checkpoint half written."""
        with self.watchdog.running(), self.checkpoint_writer.settled():
            yield

    def write_policy(self, folder: Path, fields: Mapping[str, object], weights: dict[str, Tensor]) -> str:
        """Writes the policy into an empty folder; returns its hash. Rank zero only."""
        assert self.job.base is not None
        model = self.train_state.model
        more = save_policy(model, self.job.base, folder, weights)
        return write_manifest(folder, {**fields, **more, "parameters": parameter_count(model)})

    def set_row_statistics(self, length: float, action_share: float) -> None:
        """Sets the mean row length and the fraction of action tokens, from which `mfu` is computed."""
        if self.device.type == "cuda":
            model = self.train_state.model
            self.meter.flops_per_token = flops_per_token(model, round(length), action_share)

    def _report_halved_size(self, tokens: int) -> None:
        self.progress.log_event("micro_batch", step=self.cursor.step + 1, micro_batch_tokens=tokens)
        self.progress.update_status(micro_batch_tokens=tokens)


def configure_torch(settings: TrainSettings | RlSettings) -> torch.device:
    """Sets threads and determinism; returns this process's device."""
    device = device_of(settings)
    torch.set_num_threads(settings.threads)
    # Some CUDA kernels have no deterministic form; for those torch only warns
    torch.use_deterministic_algorithms(True, warn_only=device.type == "cuda")
    # By default this mode also fills every new tensor, which costs time and is not needed for equal results
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return device
