"""The policies that an RL job publishes, one per batch, and the record of its updates in the status."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from ..data.segments import TruncationCounts
from ..failures import JobFailure
from ..files.atomic_files import create_empty_directory, publish_directory
from ..files.policy_files import is_intact, remove_if_damaged, verify_policy
from .resume import discard_unpublished_policies, verify_consumed_batches
from .saved_state import read_trainer_state, write_trainer_state
from .trainer import Trainer

TRAINER_STATE = "trainer-state.safetensors"


class RlPolicies:
    """Publishes the policy of each batch after its checkpoint, and the last one as the job's output."""

    def __init__(self, trainer: Trainer) -> None:
        job = trainer.job
        self.trainer, self.job, self.cursor = trainer, job, trainer.cursor
        self.progress, self.process_group = trainer.progress, trainer.process_group
        self.policies = trainer.job_dir / "policies"
        self.process_group.on_rank_zero(lambda: discard_unpublished_policies(self.policies))
        self.process_group.on_rank_zero(lambda: verify_consumed_batches(trainer.job_dir, self.cursor.updates))
        self._handed_over = read_trainer_state(job.trainer_state) if job.trainer_state is not None else None

    def resume(self, total_updates: int) -> None:
        """Loads the train state, and publishes the policy of the newest checkpoint if it is missing."""
        self.trainer.load(total_updates, self._handed_over)
        self._handed_over = None
        # In the middle of a batch, the caller has the policy from which it was sampled
        if self.cursor.updates and not self.cursor.batch:
            self.publish()
        elif self.cursor.updates:
            self._update_status()

    def commit(self, step: int, dataset_sha256: str, loss: float, metrics: dict[str, float]) -> None:
        """Writes a checkpoint with the record of the batch and its policy's hash: no update is repeated."""
        record = {"step": step, "dataset_sha256": dataset_sha256, "loss": loss, "metrics": metrics}
        self.cursor.batch = {}
        self.cursor.updates = [*self.cursor.updates, record]
        record["policy_hash"] = self._write_policy(self._staging)
        self.trainer.commit(updates_wait=True)  # the policy may be published only after its checkpoint

    def publish(self) -> None:
        """Publishes the newest policy if it is missing, also when the caller has moved it away."""
        staging, policy = self._staging, self.policies / f"step-{len(self.cursor.updates):06d}"

        def is_published() -> bool:
            intact = is_intact(policy, self._newest_hash)
            if intact:  # the update was repeated, because its checkpoint was damaged
                shutil.rmtree(staging, ignore_errors=True)
            return intact

        def publish() -> None:
            shutil.rmtree(policy, ignore_errors=True)  # damaged, or from a job with other settings
            publish_directory(staging, policy)

        if not self.process_group.on_rank_zero(is_published):
            if not self.process_group.on_rank_zero(staging.exists):
                self._rewrite_policy(staging)
            self.process_group.on_rank_zero(publish)
        self._update_status()

    def finish(self) -> str:
        """Writes the trainer state and then the output; both are functions of the last checkpoint."""
        optimizer_state = self.trainer.train_state.optimizer_state()
        sha256 = self.process_group.on_rank_zero(
            lambda: write_trainer_state(self.trainer.job_dir / TRAINER_STATE, optimizer_state)
        )
        self.progress.update_status(trainer_state_sha256=sha256)
        if self.process_group.on_rank_zero(self._is_output_published):
            return self._newest_hash
        staging = self.job.output.with_name(f".{self.job.output.name}.staging")
        self._rewrite_policy(staging)
        self.process_group.on_rank_zero(lambda: publish_directory(staging, self.job.output))
        return self._newest_hash

    def _update_status(self) -> None:
        """Adds the updates to the status, after their policies are published."""
        updates = self.cursor.updates

        def total(name: str) -> int:
            return sum(update["metrics"].get(name, 0) for update in updates)  # an older trainer made some

        truncation = TruncationCounts(
            actions=total("actions"),
            rows_cut=total("truncated"),
            tokens_dropped=total("tokens_dropped"),
            actions_dropped=total("actions_dropped"),
            examples_dropped=total("rollouts_dropped"),
        )
        self.progress.update_status(
            step=self.cursor.step,
            tokens=self.cursor.tokens,
            loss=updates[-1]["loss"],
            policies=updates,
            segments=total("segments"),
            truncated=truncation.rows_cut,
            truncation=asdict(truncation),
        )

    @property
    def _newest_hash(self) -> str:
        return str(self.cursor.updates[-1]["policy_hash"])

    @property
    def _staging(self) -> Path:
        return self.policies / f".staging-{len(self.cursor.updates):06d}"

    def _is_output_published(self) -> bool:
        self.job.output.parent.mkdir(parents=True, exist_ok=True)
        if is_intact(self.job.output, self._newest_hash):
            return True
        remove_if_damaged(self.job.output, self.progress.log_damage)
        if self.job.output.exists():  # intact, but another policy: raises
            verify_policy(self.job.output, self._newest_hash, field="output")
        return False

    def _rewrite_policy(self, staging: Path) -> None:
        """Writes the newest policy again from its checkpoint; its hash must be the committed one."""
        found = self._write_policy(staging)
        if found != self._newest_hash:
            policy = f"the policy of batch {len(self.cursor.updates)}"
            change = f"{policy} has hash {found}, committed was {self._newest_hash}"
            raise JobFailure("internal", f"{change}: check whether transformers was updated since")

    def _write_policy(self, staging: Path) -> str:
        """Writes the policy of the newest update; returns its hash.

        The manifests form a chain: each names the policy before its update, and the first the initial trainer
        state.
        """
        updates = self.cursor.updates
        is_first = len(updates) == 1
        fields = {
            **self.job.manifest_fields(),
            "base_hash": self.job.base_hash if is_first else updates[-2]["policy_hash"],
            "dataset_sha256": updates[-1]["dataset_sha256"],
            "trainer_state_sha256": self.job.trainer_state_sha256 if is_first else None,
        }
        weights = self.trainer.train_state.weights()
        return self.process_group.on_rank_zero(
            lambda: self.trainer.write_policy(create_empty_directory(staging), fields, weights)
        )
