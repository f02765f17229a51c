"""Reads a batch of rollouts and makes the passes before its first update, or restores their results."""

from __future__ import annotations

from dataclasses import replace

from ..chat.encoder import ChatEncoder
from ..data.packing import Packing
from ..data.rollout_batch import RolloutBatch, read_rollouts
from ..data.step_batches import StepBatch
from ..failures import bad_input
from ..settings import GrpoSettings, RlSettings
from .batch_record import BatchRecord
from .rollout_objective import PreparedRollouts, plan_passes, prepare_rollouts, restore_prepared
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

    def read(self, step: int, batch: StepBatch) -> RolloutBatch:
        return read_rollouts(
            batch.path,
            self.encoder,
            name=f"batch {step}",
            score="advantage" if isinstance(self.settings, GrpoSettings) else "reward",
            max_length=self.trainer.job.max_length,
            thinking=self.settings.thinking,
        )

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
            count=lambda tokens: len(plan_passes(rollouts, tokens, packing)),
            undo=train_state.optimizer.zero_grad,
        )
