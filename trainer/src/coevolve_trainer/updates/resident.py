"""A resident job: waits for one batch of rollouts after the other, and publishes a policy after each."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from threading import Event
from typing import Any

import torch

from ..chat.encoder import ChatEncoder
from ..data.batch_feed import StepBatch, batch_file, read_batch_file, wait_for_batch
from ..data.rollouts import RolloutBatch, read_rollouts
from ..failures import JobFailure, bad_input
from ..files.durable import fresh_directory, publish_directory, sha256_of_file
from ..files.policy_files import verify_policy, write_manifest
from ..job import Job
from ..models.decoder import load_model, parameter_count, save_trained
from ..progress import Progress
from ..settings import GrpoSettings, RlSettings
from .checkpoint import Cursor, resume, save_checkpoint
from .learner import load_learner, restore_trainer_state, save_trainer_state
from .policy_update import Update, make_update

TRAINER_STATE = "trainer-state.safetensors"


def run_resident(job: Job, settings: RlSettings, job_dir: Path, progress: Progress, stop: Event) -> str:
    """Makes `job.steps` updates, each committed and published before the next; returns the last policy.

    Killed at any moment and started again, it goes on after the last committed update, with the same bits.

    Raises:
        JobFailure: `cancelled` when `stop` is set or no batch comes; `bad-input`; `diverged`.
    """
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(job.seed)
    resident = _Resident(job, settings, job_dir, progress)
    for step in range(resident.cursor.step + 1, job.steps + 1):
        progress.event("waiting", step=step)
        began = time.monotonic()
        batch = wait_for_batch(job_dir, step, idle_timeout_s=settings.idle_timeout_s, stop=stop)
        progress.waited(time.monotonic() - began)
        resident.learn(step, batch)
    return resident.finish()


class _Resident:
    """The state between two batches: what is learnt, and the record of how."""

    def __init__(self, job: Job, settings: RlSettings, job_dir: Path, progress: Progress) -> None:
        assert job.base is not None
        assert job.reference is not None
        self.job, self.settings, self.job_dir, self.progress = job, settings, job_dir, progress
        self.base, self.encoder = job.base, ChatEncoder.load(job.base)
        self.reference = load_model(job.reference).requires_grad_(False)
        self.learner = load_learner(job.base, settings)
        self.checkpoints, self.policies = job_dir / "checkpoints", job_dir / "policies"
        for folder in (self.checkpoints, self.policies):
            folder.mkdir(exist_ok=True)
        self.cursor = self._resume()
        progress.earlier_seconds = self.cursor.seconds
        progress.update(total_steps=job.steps, parameters=parameter_count(self.learner.model))
        for unfinished in self.policies.glob(".staging-*"):
            shutil.rmtree(unfinished)
        if self.cursor.step:
            progress.event("resumed", step=self.cursor.step)
            self._publish()
            self._tell()

    def learn(self, step: int, batch: StepBatch) -> None:
        """One update, from its rollouts to its published policy."""
        score = "advantage" if isinstance(self.settings, GrpoSettings) else "reward"
        name, max_length = f"batch {step}", self.settings.max_length
        rollouts = read_rollouts(batch.path, self.encoder, name=name, score=score, max_length=max_length)
        self.progress.event("update", step=step, trajectories=len(rollouts.score))
        began = time.monotonic()
        update = self._update(step, rollouts)
        rate = rollouts.tokens / (time.monotonic() - began)
        self._commit(step, batch, rollouts.tokens, update)
        self.progress.event(
            "step",
            step=step,
            loss=update.loss,
            tokens=self.cursor.tokens,
            tokens_per_s=rate,
            **update.metrics,
        )
        self._publish()
        self._tell()

    def finish(self) -> str:
        """Leaves the trainer state and, last of all, the output; both follow from the last checkpoint."""
        state = save_trainer_state(self.job_dir / TRAINER_STATE, self.learner)
        self.progress.update(trainer_state_sha256=state)
        if self.job.output.exists():
            return verify_policy(self.job.output, self._newest_hash, field="output")
        self.job.output.parent.mkdir(parents=True, exist_ok=True)
        staging = self.job.output.with_name(f".{self.job.output.name}.staging")
        self._write_again(staging)
        publish_directory(staging, self.job.output)
        return self._newest_hash

    def _resume(self) -> Cursor:
        """The newest committed update's state, or that of the job's beginning."""
        learner = self.learner
        cursor = resume(
            self.checkpoints, self.job.identity(), learner.model, learner.optimizer, learner.value_head
        )
        if not cursor.step and self.job.trainer_state is not None:
            restore_trainer_state(self.job.trainer_state, learner)
        for update in cursor.updates:
            path = batch_file(self.job_dir, update["step"])
            found = read_batch_file(path).sha256 if path.exists() else update["dataset_sha256"]
            if found != update["dataset_sha256"]:
                raise bad_input(
                    str(path),
                    found,
                    f"{update['dataset_sha256']}, which update {update['step']} was made from",
                )
        return cursor

    def _update(self, step: int, rollouts: RolloutBatch) -> Update:
        try:
            return make_update(
                self.learner, self.reference, rollouts, self.settings, pad_id=self.encoder.pad_id
            )
        except JobFailure as failure:
            raise JobFailure(failure.type, f"update {step}: {failure.message}") from None

    def _commit(self, step: int, batch: StepBatch, tokens: int, update: Update) -> None:
        """Checkpoints the update with its policy's hash: from here on it is never made again."""
        record = {
            "step": step,
            "dataset_sha256": batch.sha256,
            "loss": update.loss,
            "metrics": update.metrics,
        }
        updates = [*self.cursor.updates, record]
        record["policy_hash"] = self._write_policy(self._staging(step), updates)
        seconds = self.progress.seconds
        self.cursor = Cursor(step, self.cursor.tokens + tokens, seconds, updates)
        learner = self.learner
        save_checkpoint(
            self.checkpoints,
            self.job.identity(),
            learner.model,
            learner.optimizer,
            self.cursor,
            learner.value_head,
        )
        self.progress.event("checkpoint", step=step)

    def _publish(self) -> None:
        """Makes the newest policy appear, once. One that was moved away since appears again, to no harm."""
        staging, policy = self._staging(self.cursor.step), self.policies / f"step-{self.cursor.step:06d}"
        manifest = policy / "manifest.json"
        if manifest.exists() and sha256_of_file(manifest) == self._newest_hash:
            shutil.rmtree(
                staging, ignore_errors=True
            )  # an update made twice, because its checkpoint was damaged
            return
        if not staging.exists():
            self._write_again(staging)
        shutil.rmtree(policy, ignore_errors=True)  # of this folder's job when it had other settings
        publish_directory(staging, policy)

    def _tell(self) -> None:
        """Updates what a watcher sees; a policy that is told of is published."""
        updates = self.cursor.updates
        totals = {name: sum(u["metrics"][name] for u in updates) for name in ("truncated", "segments")}
        self.progress.update(
            step=self.cursor.step,
            tokens=self.cursor.tokens,
            loss=updates[-1]["loss"],
            policies=updates,
            **totals,
        )

    @property
    def _newest_hash(self) -> str:
        return str(self.cursor.updates[-1]["policy_hash"])

    def _staging(self, step: int) -> Path:
        return self.policies / f".staging-{step:06d}"

    def _write_again(self, staging: Path) -> None:
        """Writes the newest policy a second time, from its checkpoint; the same hash must come out."""
        found = self._write_policy(staging, self.cursor.updates)
        if found != self._newest_hash:
            message = f"update {self.cursor.step} gives {found} now, gave {self._newest_hash} when committed"
            raise JobFailure("internal", f"{message}: was transformers exchanged since?")

    def _write_policy(self, staging: Path, updates: list[dict[str, Any]]) -> str:
        """Writes the learner's policy as that of the newest of `updates`; returns its hash.

        The facts chain: each policy names the one it was made from, and the first the state it began with.
        """
        first = len(updates) == 1
        facts = {
            **self.job.facts(),
            "base_hash": self.job.base_hash if first else updates[-2]["policy_hash"],
            "dataset_sha256": updates[-1]["dataset_sha256"],
            "trainer_state_sha256": self.job.trainer_state_sha256 if first else None,
        }
        model = self.learner.model
        save_trained(model, self.base, fresh_directory(staging))
        return write_manifest(staging, {**facts, "parameters": parameter_count(model)})
