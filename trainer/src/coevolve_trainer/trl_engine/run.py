"""Runs a job with a dataset by TRL's trainers and publishes the policy."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException

from ..data.dataset import Dataset, action_count
from ..engines import versions
from ..files.atomic_files import create_empty_directory, publish_directory
from ..files.policy_files import write_manifest
from ..models.adapter import adapter_parameters, has_adapter
from ..models.compute_path import resolve_precision
from ..models.cost import flops_per_token, needs_checkpointing
from ..models.policy import load_policy, parameter_count, save_policy, trainable_parameters, trained_weights
from ..process_group import ProcessGroup
from ..settings import DpoSettings
from ..updates.checkpoint import Cursor
from ..updates.job_space import require_space_for_job
from ..updates.meter import Meter
from ..updates.reference_logprobs import cached_logprobs, reference_key
from ..updates.trainer import configure_torch
from .arguments import trainer_arguments, uses_flash_attention
from .batches import row_owners
from .callback import JobCallback, JobContext
from .checkpoint import STAGING, find_checkpoint, read_cursor
from .micro_batches import Plan, plan_updates, split_evenly
from .trainers import CPU, create_trainer


def run_trl_job(context: JobContext, data: Dataset) -> str:
    """Trains on the dataset, or the rest of it, and publishes the policy; returns its hash."""
    context.process_group.on_pass = context.watchdog.reset
    with context.watchdog.running(), context.checkpoint_write.settled():
        return _TrlJob(context, data).run()


def _train(trainer: Any, checkpoint: Path | None) -> None:
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except CheckpointException as error:
        # A BaseException, which no handler of errors sees; it holds the error of each rank that failed
        cause, _ = next(iter(error.failures.values()))
        raise cause from error


class _TrlJob:
    """One process of a job."""

    def __init__(self, context: JobContext, data: Dataset) -> None:
        self.context, self.examples = context, data.examples
        self.job, self.process_group = context.job, context.process_group
        assert self.job.base is not None
        self.device = configure_torch(context.settings)
        self.settings = resolve_precision(context.settings, self.device)
        self.plan = plan_updates(self.examples, self.settings, self.job.seed)
        torch.manual_seed(self.job.seed)  # of a new adapter's weights, as in the builtin engine
        # Loaded before the arguments exist: with ZeRO stage 3 these change how transformers loads weights
        self.model = load_policy(self.job.base, self.settings, CPU, trainable=True)
        self.parameters = parameter_count(self.model)  # later the model may be a shard
        self.trained = sum(p.numel() for p in trainable_parameters(self.model))

    def run(self) -> str:
        context, config = self.context, copy.deepcopy(self.model.config)
        key, folder = self.job.checkpoint_key(), context.checkpoints
        found = self.process_group.on_rank_zero(
            lambda: find_checkpoint(folder, key, context.progress.log_damage)
        )
        cursor = Cursor() if found is None else read_cursor(found)
        self.process_group.on_rank_zero(
            lambda: require_space_for_job(self.job, context.job_dir, self.trained, len(self.plan.updates))
        )
        trainer = self._create_trainer()
        self._report_start(cursor)
        self._add_callback(trainer, cursor)
        if isinstance(self.settings, DpoSettings):
            self._set_reference(trainer, self.settings)
        if cursor.step < len(self.plan.updates) and not self.settings.is_enough(cursor.losses):
            _train(trainer, found)
            context.checkpoint_write.finish()
        weights = self._trained_weights(trainer)
        self.model.config = config  # TRL has changed its special tokens
        return self.process_group.on_rank_zero(lambda: self._publish(weights))

    def _create_trainer(self) -> Any:
        settings = self.settings
        checkpointing = settings.gradient_checkpointing == "on" or (
            settings.gradient_checkpointing == "auto"
            and needs_checkpointing(self.model, settings.micro_batch_tokens, self.device)
        )
        self.context.progress.update_status(gradient_checkpointing="on" if checkpointing else "off")
        if uses_flash_attention(settings, self.device):
            self.model.set_attn_implementation("flash_attention_2")
        arguments = trainer_arguments(
            settings,
            self.context.checkpoints / STAGING,
            self.device,
            seed=self.job.seed,
            passes=self.plan.passes,
            checkpointing=checkpointing,
        )
        return create_trainer(self.job, settings, self.model, arguments, plan=self.plan)

    def _report_start(self, cursor: Cursor) -> None:
        settings, progress = self.settings, self.context.progress
        progress.earlier_seconds = cursor.seconds
        fields = {
            "device": self.device.type,
            "precision": settings.precision,
            "engine": settings.engine,
            "sharding": settings.sharding,
            "processes": settings.processes,
            "parameters": self.parameters,
            "trainable_parameters": self.trained,
        }
        progress.log_event("started", **fields, versions=versions())
        progress.update_status(
            **fields,
            step=cursor.step,
            total_steps=len(self.plan.updates),
            tokens=cursor.tokens,
            micro_batch_tokens=settings.micro_batch_tokens,
        )
        if cursor.step:
            progress.log_event("resumed", step=cursor.step)

    def _add_callback(self, trainer: Any, cursor: Cursor) -> None:
        trainer.add_callback(
            JobCallback(
                self.context,
                cursor,
                self._meter(),
                plan=self.plan,
                trained=self.trained,
                take_pair_sums=trainer.take_pair_sums if isinstance(self.settings, DpoSettings) else dict,
            )
        )

    def _meter(self) -> Meter:
        meter = Meter(self.device, processes=self.settings.processes)
        if self.device.type == "cuda":
            rows = [row for example in self.examples for row in (*example.chosen, *example.rejected)]
            tokens = sum(len(row.input_ids) for row in rows)
            meter.flops_per_token = flops_per_token(
                self.model, tokens / len(rows), action_count(rows) / tokens
            )
        return meter

    def _set_reference(self, trainer: Any, settings: DpoSettings) -> None:
        """Computes the reference's log-probabilities, or reads an earlier process's, and frees its model."""
        build = trainer.batches.build
        build.reference = cached_logprobs(
            self.context.job_dir / "reference-logprobs.safetensors",
            reference_key(self.job, settings),
            len(self.examples),
            lambda: _compute_reference_logprobs(trainer, self.plan, settings, self.process_group),
            self.process_group,
        )
        trainer.ref_model, trainer.precompute_ref_logps = None, True

    def _trained_weights(self, trainer: Any) -> dict[str, Tensor]:
        """Returns the trained weights in float32, by their names in the file; collective."""
        if not trainer.is_deepspeed_enabled:
            return trained_weights(self.model, is_kept=self.process_group.is_rank_zero)
        from deepspeed.utils import safe_get_full_fp32_param

        adapts = has_adapter(self.model)
        named = adapter_parameters(self.model) if adapts else dict(self.model.named_parameters())
        return {name: safe_get_full_fp32_param(parameter).cpu() for name, parameter in named.items()}

    def _publish(self, weights: dict[str, Tensor]) -> str:
        """Writes the files that the builtin engine writes; the manifest also has the packages' versions."""
        base, output = self.job.base, self.job.output
        assert base is not None
        output.parent.mkdir(parents=True, exist_ok=True)
        staging = create_empty_directory(output.with_name(f".{output.name}.staging"))
        more = save_policy(self.model, base, staging, weights)
        fields = {**self.job.manifest_fields(), **more, "parameters": self.parameters}
        policy_hash = write_manifest(staging, {**fields, "engine_versions": versions()})
        self.context.progress.secure_totals()
        publish_directory(staging, output)
        return policy_hash


def _compute_reference_logprobs(
    trainer: Any, plan: Plan, settings: DpoSettings, process_group: ProcessGroup
) -> Tensor:
    """Returns [N, 2] nats for the two sides of each pair; 0 for demonstrations. Collective."""
    examples, device = plan.examples, trainer.args.device
    pairs = [i for i, example in enumerate(examples) if example.rejected]
    micro_batches = split_evenly(examples, pairs, settings)

    def logprobs_of(indices: tuple[int, ...]) -> Tensor:
        inputs = {name: tensor.to(device) for name, tensor in trainer.batches.build.rows(indices).items()}
        by_row = torch.cat(trainer.compute_ref_log_probs(trainer.ref_model, inputs)).float().cpu()
        owners = row_owners([examples[i] for i in indices])
        return torch.zeros(2 * len(indices)).index_add(0, owners, by_row)

    logprobs = torch.zeros(len(examples), 2)
    results = process_group.parallel_map(micro_batches, logprobs_of)
    for indices, result in zip(micro_batches, results, strict=True):
        logprobs[list(indices)] = result.view(2, -1).T
    return logprobs
