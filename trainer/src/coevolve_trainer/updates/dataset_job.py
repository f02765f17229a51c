"""A job with a dataset (sft, rft, dpo, target): trains on it and publishes the policy."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from ..chat.encoder import ChatEncoder
from ..data.dataset import Dataset
from ..data.epoch_batches import plan_epoch
from ..data.packing import Packing
from ..failures import JobFailure
from ..files.atomic_files import create_empty_directory, publish_directory
from ..settings import DpoSettings, TrainSettings
from .dataset_objectives import PairObjective, SftObjective
from .objective import Objective
from .reference_logprobs import plan_pairs, reference_key, reference_logprobs
from .train_state import load_reference
from .trainer import Trainer


def run_dataset_job(trainer: Trainer, settings: TrainSettings, data: Dataset) -> str:
    """Trains on the dataset and publishes the policy; returns its hash."""
    assert trainer.job.base is not None
    packing = Packing.for_kernels(settings.kernels, ChatEncoder.load(trainer.job.base).pad_id)
    objective: Objective[list[int], Any] = SftObjective(data.examples, packing)
    if isinstance(settings, DpoSettings):
        reference = _reference_logprobs(trainer, settings, data, packing)
        objective = PairObjective(data.examples, packing, reference, settings)
    lengths = [example.longest_row for example in data.examples]
    _train(trainer, settings, objective, lengths, _action_share(data))
    return _publish(trainer)


def _reference_logprobs(trainer: Trainer, settings: DpoSettings, data: Dataset, packing: Packing) -> Tensor:
    """Returns [N, 2] nats under the frozen reference policy."""
    job, device, process_group = trainer.job, trainer.device, trainer.process_group
    base, policy = job.base, job.reference
    assert base is not None
    assert policy is not None

    def compute(max_tokens: int) -> Tensor:
        return reference_logprobs(
            trainer.job_dir / "reference-logprobs.safetensors",
            reference_key(job, settings),
            lambda: load_reference(policy, settings, base, device=device, process_group=process_group),
            data.examples,
            packing=packing,
            max_tokens=max_tokens,
            process_group=process_group,
        )

    return trainer.micro_batch_size.retry_on_oom(
        compute,
        count=lambda max_tokens: len(plan_pairs(data.examples, packing, max_tokens)),
        undo=lambda: None,
    )


def _action_share(data: Dataset) -> float:
    rows = [segment for example in data.examples for segment in (*example.chosen, *example.rejected)]
    return sum(sum(row.action_mask) for row in rows) / sum(len(row.input_ids) for row in rows)


def _train(
    trainer: Trainer,
    settings: TrainSettings,
    objective: Objective[list[int], Any],
    lengths: list[int],
    action_share: float,
) -> None:
    """Makes the updates after the newest checkpoint.

    `lengths` holds the row length of every example; a batch holds indices of examples. `action_share` is the
    fraction of action tokens.

    Raises:
        JobFailure: `diverged`, `out-of-memory`, `disk-full`; `cancelled` after SIGTERM.
    """
    per_epoch = math.ceil(len(lengths) / settings.batch_size)
    total = settings.total_updates(per_epoch)
    trainer.load(total)
    trainer.set_row_statistics(sum(lengths) / len(lengths), action_share)
    cursor, plan = trainer.cursor, list[list[int]]()
    end = cursor.step if settings.is_enough(cursor.losses) else total
    while cursor.step < end:
        epoch, index = divmod(cursor.step, per_epoch)
        if index == 0 or not plan:
            plan = plan_epoch(lengths, settings.batch_size, seed=trainer.job.seed, epoch=epoch)
        trainer.train_state.optimizer.param_groups[0]["lr"] = learning_rate(cursor.step, total, settings)
        trainer.update(objective, plan[index])

        if settings.is_enough(cursor.losses):
            end = cursor.step
        if cursor.step % settings.log_every == 0 or cursor.step == end:
            numbers = trainer.meter.read(end - cursor.step)
            trainer.log(end, {"epoch": cursor.step / per_epoch, **numbers})
        should_stop = trainer.should_stop()
        # A job must not resume from a state that may be diverging
        is_due = cursor.step % settings.checkpoint_every == 0 and not trainer.divergence.is_suspicious
        if is_due or should_stop:
            trainer.commit(updates_wait=should_stop or cursor.step == end)
        if should_stop and cursor.step < end:
            raise JobFailure("cancelled", f"stopped after update {cursor.step} of {end}")
    trainer.checkpoint_writer.finish()


def learning_rate(step: int, total: int, settings: TrainSettings) -> float:
    """Returns the rate of update `step` (from 0): linear warm-up, then cosine to 0 or constant."""
    warmup = max(1, round(settings.warmup_fraction * total))
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def _publish(trainer: Trainer) -> str:
    output, weights = trainer.job.output, trainer.train_state.weights()
    staging = output.with_name(f".{output.name}.staging")

    def write() -> str:
        output.parent.mkdir(parents=True, exist_ok=True)
        fields = trainer.job.manifest_fields()
        policy_hash = trainer.write_policy(create_empty_directory(staging), fields, weights)
        trainer.progress.secure_totals()
        publish_directory(staging, output)
        return policy_hash

    return trainer.process_group.on_rank_zero(write)
