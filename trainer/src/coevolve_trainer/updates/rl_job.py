"""An RL job (grpo, ppo): waits for batches of rollouts and publishes a policy after the updates on each."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict
from pathlib import Path

from ..data.mini_batches import plan_mini_batches
from ..data.segments import TruncationCounts
from ..data.step_batches import StepBatch, wait_for_batch
from ..failures import JobFailure
from ..files.atomic_files import create_empty_directory, publish_directory
from ..files.policy_files import is_intact, remove_if_damaged, verify_policy
from ..settings import RlSettings
from .resume import discard_unpublished_policies, verify_consumed_batches
from .rollout_objective import RolloutObjective, batch_metrics
from .rollout_preparation import RolloutPreparation
from .saved_state import read_trainer_state, write_trainer_state
from .trainer import Trainer

TRAINER_STATE = "trainer-state.safetensors"


def run_rl_job(trainer: Trainer, settings: RlSettings) -> str:
    """Trains on `job.steps` batches, publishing a policy after each; returns the hash of the last policy.

    A killed job resumes after the last committed update, also between two on one batch, and computes the same
    bits.

    Raises:
        JobFailure: `cancelled` after SIGTERM or when no batch arrives; `bad-input`; `diverged`.
    """
    rl_job = _RlJob(trainer, settings)
    for step in range(len(trainer.cursor.updates) + 1, trainer.job.steps + 1):
        rl_job.train(step, rl_job.next_batch(step))
    return rl_job.finish()


class _RlJob:
    """The train state between two batches, and the record of the updates."""

    def __init__(self, trainer: Trainer, settings: RlSettings) -> None:
        job = trainer.job
        self.trainer, self.settings = trainer, settings
        self.job, self.job_dir, self.cursor = job, trainer.job_dir, trainer.cursor
        self.progress, self.process_group = trainer.progress, trainer.process_group
        self.policies = self.job_dir / "policies"
        self.process_group.on_rank_zero(lambda: discard_unpublished_policies(self.policies))
        self.process_group.on_rank_zero(lambda: verify_consumed_batches(self.job_dir, self.cursor.updates))
        handed_over = read_trainer_state(job.trainer_state) if job.trainer_state is not None else None
        self.preparation = RolloutPreparation(trainer, settings)
        # An upper bound: a batch with fewer groups than mini-batches has fewer updates
        self.total_updates = job.steps * settings.epochs * settings.mini_batches
        trainer.load(self.total_updates, handed_over)
        self.train_state = trainer.train_state
        if self.cursor.updates:
            # In the middle of a batch, the caller has the policy from which it was sampled
            if not self.cursor.batch:
                self._publish()
            self._update_status()

    def next_batch(self, step: int) -> StepBatch:
        """Waits for the batch of a step; this time counts neither as work nor as a stall."""
        self.progress.log_event("waiting", step=step)
        started = time.monotonic()
        timeout_s, stop = self.settings.idle_timeout_s, self.trainer.stop
        with self.trainer.watchdog.paused():
            batch = self.process_group.on_rank_zero(
                lambda: wait_for_batch(self.job_dir, step, idle_timeout_s=timeout_s, stop=stop)
            )
        self.progress.exclude(time.monotonic() - started)
        return batch

    def train(self, step: int, batch: StepBatch) -> None:
        """Makes the updates on one batch of rollouts; commits each, and publishes the policy of the last."""
        trainer, settings = self.trainer, self.settings
        rollouts = self.preparation.read(step, batch)
        self.progress.log_event("update", step=step, trajectories=len(rollouts.score))
        tokens = rollouts.token_count
        trainer.set_row_statistics(tokens / len(rollouts.segments), len(rollouts.old_logp) / tokens)
        plan = plan_mini_batches(
            rollouts, settings.mini_batches, epochs=settings.epochs, seed=f"{self.job.seed}/{step}"
        )
        trainer.meter.reset()
        prepared, record = self.preparation.start(rollouts, batch.sha256, len(plan))
        objective = RolloutObjective(settings, self.preparation.packing)
        for groups in plan[record.updates :]:
            part = prepared if settings.mini_batches == 1 else prepared.select(groups)
            totals = trainer.update(objective, part)
            numbers = trainer.meter.read(self.total_updates - self.cursor.step)
            record.add(totals, numbers["grad_norm"])
            is_last = record.updates == len(plan)
            if is_last:
                self.cursor.batch = {}
                self._commit(step, batch, record.loss, record.metrics(rollouts, settings))
            else:
                self.cursor.batch |= {"record": vars(record)}
                trainer.commit()
            metrics = {**totals.means(), **batch_metrics(part.batch, settings)}
            trainer.log(self.total_updates, {**numbers, **metrics})
            if not is_last and trainer.should_stop():
                raise JobFailure("cancelled", f"stopped after update {record.updates} on batch {step}")
        self._publish()
        self._update_status()

    def finish(self) -> str:
        """Writes the trainer state and then the output; both are functions of the last checkpoint."""
        optimizer_state = self.train_state.optimizer_state()
        sha256 = self.process_group.on_rank_zero(
            lambda: write_trainer_state(self.job_dir / TRAINER_STATE, optimizer_state)
        )
        self.progress.update_status(trainer_state_sha256=sha256)
        if self.process_group.on_rank_zero(self._is_output_published):
            return self._newest_hash
        staging = self.job.output.with_name(f".{self.job.output.name}.staging")
        self._rewrite_policy(staging)
        self.process_group.on_rank_zero(lambda: publish_directory(staging, self.job.output))
        return self._newest_hash

    def _commit(self, step: int, batch: StepBatch, loss: float, metrics: dict[str, float]) -> None:
        """Writes a checkpoint with the record of the batch and its policy's hash: no update is repeated."""
        record = {"step": step, "dataset_sha256": batch.sha256, "loss": loss, "metrics": metrics}
        self.cursor.updates = [*self.cursor.updates, record]
        record["policy_hash"] = self._write_policy(self._staging(step))
        self.trainer.commit(updates_wait=True)  # the policy may be published only after its checkpoint

    def _publish(self) -> None:
        """Publishes the newest policy if it is missing, also when the caller has moved it away."""
        step = len(self.cursor.updates)
        staging, policy = self._staging(step), self.policies / f"step-{step:06d}"

        def is_published() -> bool:
            intact = is_intact(policy, self._newest_hash)
            if intact:  # the update was repeated, because its checkpoint was damaged
                shutil.rmtree(staging, ignore_errors=True)
            return intact

        def publish() -> None:
            shutil.rmtree(policy, ignore_errors=True)  # damaged, or from a job with other settings
            publish_directory(staging, policy)

        if self.process_group.on_rank_zero(is_published):
            return
        if not self.process_group.on_rank_zero(staging.exists):
            self._rewrite_policy(staging)
        self.process_group.on_rank_zero(publish)

    def _update_status(self) -> None:
        """Adds the updates to the status, after their policies are published."""
        updates = self.cursor.updates

        def total(name: str) -> int:
            return sum(update["metrics"][name] for update in updates)

        truncation = TruncationCounts(
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

    def _is_output_published(self) -> bool:
        self.job.output.parent.mkdir(parents=True, exist_ok=True)
        if is_intact(self.job.output, self._newest_hash):
            return True
        remove_if_damaged(self.job.output, self.progress.log_damage)
        if self.job.output.exists():  # intact, but another policy: raises
            verify_policy(self.job.output, self._newest_hash, field="output")
        return False

    def _staging(self, step: int) -> Path:
        return self.policies / f".staging-{step:06d}"

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
        weights = self.train_state.weights()
        return self.process_group.on_rank_zero(
            lambda: self.trainer.write_policy(create_empty_directory(staging), fields, weights)
        )
