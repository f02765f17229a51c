"""A resident job: waits for one batch of rollouts after the other, and publishes a policy after each."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from ..chat.encoder import ChatEncoder
from ..data.packing import Packing
from ..data.rollout_batch import RolloutBatch, read_rollouts
from ..data.step_batches import StepBatch, batch_file, read_batch_file, wait_for_batch
from ..failures import JobFailure, bad_input
from ..files.atomic_files import fresh_directory, publish_directory
from ..files.policy_files import discard_damaged, is_whole, verify_policy
from ..settings import GrpoSettings, RlSettings
from .rollout_objective import PreparedRollouts, RolloutObjective, described, prepare_rollouts
from .train_state import load_scorer, read_trainer_state, save_trainer_state
from .trainer import Session

TRAINER_STATE = "trainer-state.safetensors"


def run_resident(session: Session, settings: RlSettings) -> str:
    """Makes `job.steps` updates, each committed and published before the next; returns the last policy.

    Killed at any moment and started again, it goes on after the last committed update, with the same bits.

    Raises:
        JobFailure: `cancelled` when the session is told to stop or no batch comes; `bad-input`; `diverged`.
    """
    resident = _Resident(session, settings)
    for step in range(session.cursor.step + 1, session.job.steps + 1):
        resident.learn(step, resident.next_batch(step))
    return resident.finish()


class _Resident:
    """The state between two batches: what is learnt, and the record of how."""

    def __init__(self, session: Session, settings: RlSettings) -> None:
        job = session.job
        assert job.base is not None
        assert job.reference is not None
        self.session, self.settings = session, settings
        self.job, self.job_dir, self.cursor = job, session.job_dir, session.cursor
        self.progress, self.ranks = session.progress, session.ranks
        self.encoder = ChatEncoder.load(job.base)
        self.packing = Packing.on(session.device, self.encoder.pad_id)
        self.policies = self.job_dir / "policies"
        self.ranks.first(self._tidy)
        earlier = read_trainer_state(job.trainer_state) if job.trainer_state is not None else None
        self.reference = load_scorer(
            job.reference, settings, job.base, device=session.device, ranks=self.ranks
        )
        session.load(job.steps, earlier)
        self.learner = session.learner
        if self.cursor.step:
            self._publish()
            self._tell()

    def next_batch(self, step: int) -> StepBatch:
        """Waits for it, which is neither work nor a stall."""
        self.progress.event("waiting", step=step)
        began = time.monotonic()
        timeout_s, stop = self.settings.idle_timeout_s, self.session.stop
        with self.session.watchdog.waiting():
            batch = self.ranks.first(
                lambda: wait_for_batch(self.job_dir, step, idle_timeout_s=timeout_s, stop=stop)
            )
        self.progress.waited(time.monotonic() - began)
        return batch

    def learn(self, step: int, batch: StepBatch) -> None:
        """One update, from its rollouts to its published policy."""
        score = "advantage" if isinstance(self.settings, GrpoSettings) else "reward"
        name, max_length = f"batch {step}", self.settings.max_length
        rollouts = read_rollouts(batch.path, self.encoder, name=name, score=score, max_length=max_length)
        self.progress.event("update", step=step, trajectories=len(rollouts.score))
        session, tokens = self.session, rollouts.tokens
        session.measure_flops(tokens / len(rollouts.segments), len(rollouts.old_logp) / tokens)
        session.meter.begin()
        totals = session.update(RolloutObjective(self.settings, self.packing), self._prepare(rollouts))
        read = session.meter.read(self.job.steps - step)
        metrics = {**totals.means(), **described(rollouts, self.settings), "grad_norm": read["grad_norm"]}
        self._commit(step, batch, totals.loss, metrics)
        session.tell(self.job.steps, {**read, **metrics})
        self._publish()
        self._tell()

    def finish(self) -> str:
        """Leaves the trainer state and, last of all, the output; both follow from the last checkpoint."""
        learnt = self.learner.state()
        state = self.ranks.first(lambda: save_trainer_state(self.job_dir / TRAINER_STATE, learnt))
        self.progress.update(trainer_state_sha256=state)
        if self.ranks.first(self._is_out):
            return self._newest_hash
        staging = self.job.output.with_name(f".{self.job.output.name}.staging")
        self._write_again(staging)
        self.ranks.first(lambda: publish_directory(staging, self.job.output))
        return self._newest_hash

    def _tidy(self) -> None:
        """Removes what a killed process left, and checks that the batches are those learnt from."""
        self.policies.mkdir(exist_ok=True)
        for unfinished in self.policies.glob(".staging-*"):
            shutil.rmtree(unfinished)
        for update in self.cursor.updates:
            path = batch_file(self.job_dir, update["step"])
            found = read_batch_file(path)
            if found is not None and found.sha256 != update["dataset_sha256"]:
                expected = f"{update['dataset_sha256']}, which update {update['step']} was made from"
                raise bad_input(str(path), found.sha256, expected)

    def _prepare(self, rollouts: RolloutBatch) -> PreparedRollouts:
        """The passes before the update, in parts as large as memory allows."""
        packing, scorer = self.packing, self.learner.scorer

        def prepare(tokens: int) -> PreparedRollouts:
            settings = replace(self.settings, micro_batch_tokens=tokens)
            return prepare_rollouts(rollouts, scorer, self.reference, settings, self.ranks, packing=packing)

        return self.session.memory.fit(prepare, undo=self.learner.optimizer.zero_grad)

    def _commit(self, step: int, batch: StepBatch, loss: float, metrics: dict[str, float]) -> None:
        """Checkpoints the update with its policy's hash: from here on it is never made again."""
        record = {"step": step, "dataset_sha256": batch.sha256, "loss": loss, "metrics": metrics}
        self.cursor.updates = [*self.cursor.updates, record]
        record["policy_hash"] = self._write_policy(self._staging(step))
        self.session.commit()

    def _publish(self) -> None:
        """Makes the newest policy appear, once. One that was moved away since appears again, to no harm."""
        staging, policy = self._staging(self.cursor.step), self.policies / f"step-{self.cursor.step:06d}"

        def is_there() -> bool:
            there = is_whole(policy, self._newest_hash)
            if there:  # an update made twice, because its checkpoint was damaged
                shutil.rmtree(staging, ignore_errors=True)
            return there

        def publish() -> None:
            shutil.rmtree(policy, ignore_errors=True)  # damaged, or of the job when it had other settings
            publish_directory(staging, policy)

        if self.ranks.first(is_there):
            return
        if not self.ranks.first(staging.exists):
            self._write_again(staging)
        self.ranks.first(publish)

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

    def _is_out(self) -> bool:
        self.job.output.parent.mkdir(parents=True, exist_ok=True)
        if is_whole(self.job.output, self._newest_hash):
            return True
        discard_damaged(self.job.output, self.progress.damaged)
        if self.job.output.exists():  # whole, and another
            verify_policy(self.job.output, self._newest_hash, field="output")
        return False

    def _staging(self, step: int) -> Path:
        return self.policies / f".staging-{step:06d}"

    def _write_again(self, staging: Path) -> None:
        """Writes the newest policy a second time, from its checkpoint; the same hash must come out."""
        found = self._write_policy(staging)
        if found != self._newest_hash:
            message = f"update {self.cursor.step} gives {found} now, gave {self._newest_hash} when committed"
            raise JobFailure("internal", f"{message}: was transformers exchanged since?")

    def _write_policy(self, staging: Path) -> str:
        """Writes the learner's policy as that of the newest update; returns its hash.

        The facts chain: each policy names the one it was made from, and the first the state it began with.
        """
        updates = self.cursor.updates
        first = len(updates) == 1
        facts = {
            **self.job.facts(),
            "base_hash": self.job.base_hash if first else updates[-2]["policy_hash"],
            "dataset_sha256": updates[-1]["dataset_sha256"],
            "trainer_state_sha256": self.job.trainer_state_sha256 if first else None,
        }
        weights = self.learner.weights()
        return self.ranks.first(lambda: self.session.write_policy(fresh_directory(staging), facts, weights))
