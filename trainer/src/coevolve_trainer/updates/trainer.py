"""What every training job has, whatever its method: a learner, its checkpoints, and eyes on both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import torch
from torch import Tensor

from ..files.disk_space import require_room
from ..files.policy_files import write_manifest
from ..job import Job
from ..models.cost import flops_per_token
from ..models.policy import parameter_count, save_policy
from ..process_group import Ranks
from ..progress import Progress
from ..settings import RlSettings, TrainSettings
from ..watchdog import Watchdog
from .accumulate import Totals
from .checkpoint import Cursor, read_checkpoint, save_checkpoint
from .divergence import Divergence
from .meter import Meter
from .micro_batch_size import Memory
from .objective import B, Objective, P
from .train_state import Learner, Saved, load_learner
from .update import make_update


class Session:
    """One process's work on one training job, from the newest checkpoint on if there is one."""

    learner: Learner
    meter: Meter

    def __init__(
        self,
        job: Job,
        settings: TrainSettings | RlSettings,
        job_dir: Path,
        *,
        progress: Progress,
        ranks: Ranks,
        stop: Event,
    ) -> None:
        self.job, self.settings, self.job_dir = job, settings, job_dir
        self.progress, self.ranks, self.stop = progress, ranks, stop
        self.device = _prepare(settings)
        self.watchdog = Watchdog(settings.stall_timeout_s, progress.failed)
        ranks.beat = self.watchdog.beat
        self.checkpoints = job_dir / "checkpoints"
        ranks.first(lambda: self.checkpoints.mkdir(exist_ok=True))
        self._checkpoint = read_checkpoint(self.checkpoints, job.identity(), ranks, progress.damaged)
        fresh = Cursor(micro_batch_tokens=settings.micro_batch_tokens)
        self.cursor = self._checkpoint.cursor if self._checkpoint else fresh
        self.memory = Memory(
            self.cursor.micro_batch_tokens,
            may_halve=self.cursor.micro_batch_tokens == settings.micro_batch_tokens
            and (ranks.size == 1 or settings.sharding != "fsdp"),
            halved=self._halved,
        )
        self.divergence = Divergence(self.cursor.divergence, nonnegative=isinstance(settings, TrainSettings))
        self._losses: list[float] = []  # of the updates since the newest checkpoint

    def load(self, total_steps: int, earlier: Saved | None = None) -> None:
        """Makes the learner: the checkpoint's, or that of the job's beginning with what `earlier` left.

        Raises:
            JobFailure: `disk-full` when there is no room for what the job will write.
        """
        assert self.job.base is not None
        saved = self._checkpoint.saved if self._checkpoint else earlier
        torch.manual_seed(self.job.seed)
        learner = load_learner(
            self.job.base, self.settings, device=self.device, ranks=self.ranks, saved=saved
        )
        self.learner = learner
        if self._checkpoint is not None:
            self._checkpoint.restore_random()
            self._checkpoint = None  # its tensors are in the learner
        elif self.ranks.size > 1:
            torch.manual_seed(self.job.seed + self.ranks.rank)  # dropout of its own on every process
        trained = sum(p.numel() for p in learner.parameters())
        self.ranks.first(lambda: require_room(self.job, self.job_dir, trained))
        self.meter = Meter(self.device, processes=self.ranks.size)
        self.progress.earlier_seconds = self.cursor.seconds
        facts = {
            "device": self.device.type,
            "precision": self.settings.precision,
            "sharding": self.settings.sharding,
            "processes": self.ranks.size,
            "parameters": parameter_count(learner.model),
            "trainable_parameters": trained,
        }
        self.progress.event("started", **facts)
        self.progress.update(
            **facts,
            step=self.cursor.step,
            total_steps=total_steps,
            tokens=self.cursor.tokens,
            micro_batch_tokens=self.memory.micro_batch_tokens,
            gradient_checkpointing="on" if learner.gradient_checkpointing else "off",
        )
        if self.cursor.step:
            self.progress.event("resumed", step=self.cursor.step)

    def update(self, objective: Objective[B, P], batch: B) -> Totals:
        """Makes the next update."""
        step = self.cursor.step + 1
        totals, norm = make_update(
            step,
            self.learner,
            objective,
            batch,
            memory=self.memory,
            divergence=self.divergence,
            max_grad_norm=self.settings.max_grad_norm,
        )
        self.watchdog.beat()
        self.meter.add(totals, norm)
        self._losses.append(totals.loss)
        self.cursor.step, self.cursor.tokens = step, self.cursor.tokens + totals.tokens
        return totals

    def tell(self, total_steps: int, facts: Mapping[str, float]) -> None:
        """Writes a progress line: `facts`, what the meter read among them, and where the job stands."""
        self.progress.stepped(
            step=self.cursor.step,
            total_steps=total_steps,
            learning_rate=self.learner.optimizer.param_groups[0]["lr"],
            tokens=self.cursor.tokens,
            micro_batch_tokens=self.memory.micro_batch_tokens,
            **facts,
        )

    def commit(self) -> None:
        """Checkpoints what has been learnt: from here on it is never computed again."""
        cursor = self.cursor
        cursor.seconds, cursor.micro_batch_tokens = self.progress.seconds, self.memory.micro_batch_tokens
        cursor.mean_loss = sum(self._losses) / len(self._losses) if self._losses else math.inf
        reserve = self.settings.reserve_disk_bytes
        best = save_checkpoint(
            self.checkpoints, self.job.identity(), self.learner, cursor, reserve_bytes=reserve
        )
        self._losses = []
        self.watchdog.beat()
        self.progress.event("checkpoint", step=cursor.step, best=best)

    def is_stopping(self) -> bool:
        """Whether any process was told to stop."""
        return any(self.ranks.together(self.stop.is_set))

    def write_policy(self, folder: Path, facts: Mapping[str, object], weights: dict[str, Tensor]) -> str:
        """Writes a whole policy into an empty folder; returns its hash. The first process's alone."""
        assert self.job.base is not None
        model = self.learner.model
        more = save_policy(model, self.job.base, folder, weights)
        return write_manifest(folder, {**facts, **more, "parameters": parameter_count(model)})

    def measure_flops(self, length: float, action_share: float) -> None:
        """Says how long the rows of the coming updates are and how much of them is action: for `mfu`."""
        if self.device.type == "cuda":
            model = self.learner.model
            self.meter.flops_per_token = flops_per_token(model, round(length), action_share)

    def _halved(self, tokens: int) -> None:
        self.progress.event("micro_batch", step=self.cursor.step + 1, micro_batch_tokens=tokens)
        self.progress.update(micro_batch_tokens=tokens)


def _prepare(settings: TrainSettings | RlSettings) -> torch.device:
    """Sets torch up as the job wants it; returns where this process computes."""
    from ..distributed import device_of

    device = device_of(settings)
    torch.set_num_threads(settings.threads)
    # Some of CUDA's kernels have no deterministic form; torch warns of them and goes on
    torch.use_deterministic_algorithms(True, warn_only=device.type == "cuda")
    # Else every new tensor is filled first, which makes nothing deterministic that is not
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return device
