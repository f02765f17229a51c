"""The batch of a step, from its file to the first update: reads it and makes the passes without gradient."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from ..chat.encoder import ChatEncoder
from ..data.mini_batches import select_groups
from ..data.packed_batch import PackedBatch
from ..data.packing import Packing
from ..data.rollout_batch import RolloutBatch, read_rollouts
from ..data.step_batches import StepBatch, wait_for_batch
from ..failures import bad_input
from ..losses.reinforcement import generalized_advantages, normalize_advantages
from ..process_group import ProcessGroup
from ..settings import GrpoSettings, PpoSettings, RlSettings
from .batch_record import BatchRecord
from .objective import Scorer
from .train_state import load_reference
from .trainer import Trainer


class RolloutPreparation:
    def __init__(self, trainer: Trainer, settings: RlSettings) -> None:
        job = trainer.job
        assert job.base is not None
        assert job.reference is not None
        self.trainer, self.settings = trainer, settings
        self.encoder = ChatEncoder.load(job.base)
        self.packing = Packing.for_kernels(settings.kernels, self.encoder.pad_id)
        self.reference = load_reference(
            job.reference, settings, job.base, device=trainer.device, process_group=trainer.process_group
        )

    def wait(self, step: int) -> StepBatch:
        """Waits for the batch of a step; this time counts neither as work nor as a stall."""
        trainer, timeout_s = self.trainer, self.settings.idle_timeout_s
        trainer.progress.log_event("waiting", step=step)
        started = time.monotonic()
        with trainer.watchdog.paused():
            batch = trainer.process_group.on_rank_zero(
                lambda: wait_for_batch(trainer.job_dir, step, idle_timeout_s=timeout_s, stop=trainer.stop)
            )
        trainer.progress.exclude(time.monotonic() - started)
        return batch

    def read(self, step: int, batch: StepBatch) -> RolloutBatch:
        trainer = self.trainer
        rollouts = read_rollouts(
            batch.path,
            self.encoder,
            name=f"batch {step}",
            score="advantage" if isinstance(self.settings, GrpoSettings) else "reward",
            max_length=trainer.job.max_length,
            thinking=self.settings.thinking,
            max_lost_actions=self.settings.max_lost_actions,
        )
        trainer.progress.log_event("update", step=step, trajectories=len(rollouts.score))
        tokens = rollouts.token_count
        trainer.set_row_statistics(tokens / len(rollouts.segments), len(rollouts.old_logp) / tokens)
        return rollouts

    def start(
        self, rollouts: RolloutBatch, sha256: str, updates: int
    ) -> tuple[PreparedRollouts, BatchRecord]:
        """Prepares a batch for so many updates; a batch of which a part is done continues where it was.

        The passes before the first update cannot be repeated after it, so a checkpoint between two updates
        contains their results.

        Raises:
            JobFailure: `bad-input` when the batch has been replaced after a part of its updates.
        """
        state = self.trainer.cursor.batch
        if not state:
            prepared = self._prepare(rollouts)
            if updates > 1:
                self.trainer.cursor.batch = {"dataset_sha256": sha256, "prepared": prepared.columns()}
            return prepared, BatchRecord()
        record = BatchRecord(**state["record"])
        if state["dataset_sha256"] != sha256:
            expected = f"{state['dataset_sha256']}, on which {record.updates} updates are made"
            raise bad_input("sha256 of the batch", sha256, expected)
        return restore_prepared(rollouts, state["prepared"]), record

    def _prepare(self, rollouts: RolloutBatch) -> PreparedRollouts:
        """Makes the passes in micro-batches as large as memory allows."""
        packing, train_state = self.packing, self.trainer.train_state

        def prepare(tokens: int) -> PreparedRollouts:
            settings = replace(self.settings, micro_batch_tokens=tokens)
            scorer, process_group = train_state.scorer, self.trainer.process_group
            return prepare_rollouts(
                rollouts, scorer, self.reference, settings, process_group, packing=packing
            )

        return self.trainer.micro_batch_size.retry_on_oom(
            prepare,
            count=lambda tokens: len(_plan_passes(rollouts, tokens, packing)),
            undo=train_state.optimizer.zero_grad,
        )


@dataclass(frozen=True)
class PreparedRollouts:
    """A batch with the outputs, before its first update, of policy, frozen reference and PPO's value head."""

    batch: RolloutBatch
    old_logp: Tensor  # [N] nats: the server's, or the trainer's own
    reference_logp: Tensor  # [N] nats
    advantage: Tensor  # [N]
    target: Tensor  # [N] PPO's returns; zeros for GRPO

    def columns(self) -> dict[str, list[float]]:
        """Returns the outputs as numbers for JSON, which keeps every bit of a float32."""
        return {name: getattr(self, name).tolist() for name in PREPARED}

    def select(self, groups: list[int]) -> PreparedRollouts:
        """Returns the rollouts of these groups of the batch."""
        batch, tokens = select_groups(self.batch, groups)
        return PreparedRollouts(batch, **{name: getattr(self, name)[tokens] for name in PREPARED})


PREPARED = ("old_logp", "reference_logp", "advantage", "target")


def restore_prepared(batch: RolloutBatch, columns: Mapping[str, list[float]]) -> PreparedRollouts:
    """Returns the rollouts with outputs that `columns()` returned before."""
    return PreparedRollouts(batch, **{name: torch.tensor(columns[name]) for name in PREPARED})


def computes_old_logprobs(settings: RlSettings) -> bool:
    """Returns whether the trainer computes the log-probabilities before the first update itself.

    With one update and no importance weights the server's serve for the ratio, without another pass.
    """
    return settings.epochs * settings.mini_batches > 1 or settings.importance_truncation > 0


def prepare_rollouts(
    batch: RolloutBatch,
    scorer: Scorer,
    reference: Scorer,
    settings: RlSettings,
    process_group: ProcessGroup,
    *,
    packing: Packing,
) -> PreparedRollouts:
    """Makes the passes without gradient that precede an update, divided among the processes."""
    passes = pack_rollouts(batch, settings.micro_batch_tokens, packing)
    zeros = torch.zeros(len(batch.old_logp))

    def scatter(results: list[Tensor]) -> Tensor:
        """Puts results of passes at the indices of their action tokens: [N]."""
        scattered = zeros.clone()
        for part, result in zip(passes, results, strict=True):
            scattered[part.token_index] = result.to(zeros.device)
        return scattered

    reference_logp = scatter(process_group.parallel_map(passes, lambda p: reference(p.packed).logp))
    old_logp = batch.old_logp
    if computes_old_logprobs(settings):
        old_logp = scatter(process_group.parallel_map(passes, lambda p: scorer(p.packed).logp))
    if not isinstance(settings, PpoSettings):
        return PreparedRollouts(batch, old_logp, reference_logp, batch.score[batch.trajectory], zeros)

    def values_of(part: RolloutPass) -> Tensor:
        values = scorer(part.packed).values
        assert values is not None
        return values

    values = scatter(process_group.parallel_map(passes, values_of))
    lengths = torch.bincount(batch.trajectory).tolist()
    plain = torch.cat(
        [
            generalized_advantages(trajectory, reward, gamma=settings.gamma, gae_lambda=settings.gae_lambda)
            for trajectory, reward in zip(torch.split(values, lengths), batch.score.tolist(), strict=True)
        ]
    )
    advantage = normalize_advantages(plain) if settings.advantages == "normalized" else plain
    return PreparedRollouts(batch, old_logp, reference_logp, advantage, plain + values)


class RolloutPass(NamedTuple):
    packed: PackedBatch
    token_index: Tensor  # [A] indices of these action tokens among the batch's N


def pack_rollouts(batch: RolloutBatch, max_tokens: int, packing: Packing) -> list[RolloutPass]:
    """Packs segments with a common prefix together: the attempts of a group share their prompt."""
    return [
        RolloutPass(
            packed=packing.pack([[batch.segments[i]] for i in indices], max_tokens),
            token_index=torch.tensor([token for i in indices for token in batch.token_ranges[i]]),
        )
        for indices in _plan_passes(batch, max_tokens, packing)
    ]


def _plan_passes(batch: RolloutBatch, max_tokens: int, packing: Packing) -> list[list[int]]:
    """Returns the indices of the rows in each pass of at most `max_tokens`."""
    return packing.plan([[segment] for segment in batch.segments], max_tokens)
