"""Creates the trainer of a job: SFTTrainer's or DPOTrainer's subclass with our batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import datasets
import torch
from transformers import AutoTokenizer, PreTrainedModel, PrinterCallback

from ..chat.encoder import ChatEncoder
from ..job import Job
from ..models.adapter import is_adapter
from ..models.policy import load_policy
from ..settings import DpoSettings, TargetSettings, TrainSettings
from ..updates.dataset_job import learning_rate
from .arguments import require_distribution
from .batches import Batches, DemonstrationBuilder, PairBuilder
from .micro_batches import Plan
from .trainers import DemonstrationTrainer, PairTrainer

CPU = torch.device("cpu")


def create_trainer(
    job: Job, settings: TrainSettings, model: PreTrainedModel, arguments: Any, *, plan: Plan
) -> Any:
    """Returns the trainer; for pairs, its `ref_model` is the frozen reference.

    TRL's constructors demand a dataset and prepare it; ours is a row that is never read.
    """
    assert job.base is not None
    datasets.disable_progress_bars()
    tokenizer = AutoTokenizer.from_pretrained(job.base, local_files_only=True)
    pad_id = ChatEncoder.load(job.base).pad_id
    common = {"model": model, "args": arguments, "processing_class": tokenizer}
    build: Any
    if isinstance(settings, DpoSettings):
        unread = datasets.Dataset.from_list([{"prompt": "a", "chosen": "b", "rejected": "c"}])
        trainer = PairTrainer(**common, train_dataset=unread, ref_model=_load_reference(job, settings))
        if isinstance(settings, TargetSettings):
            trainer.sft_reduction = settings.sft_reduction
        build = PairBuilder(plan, pad_id, settings)
    else:
        unread = datasets.Dataset.from_list([{"input_ids": [pad_id], "labels": [pad_id]}])
        trainer = DemonstrationTrainer(**common, train_dataset=unread)
        build = DemonstrationBuilder(plan, pad_id, trainer.data_collator)
        build.is_weighted |= not trainer.model_accepts_loss_kwargs  # such a model gets no count of tokens
    require_distribution(settings, trainer.accelerator.distributed_type.value)
    local = plan.of_rank(arguments.process_index, settings.processes)
    total = len(plan.updates)
    trainer.batches = Batches(local, build)
    trainer.relative_rate = lambda step: learning_rate(step, total, settings) / settings.learning_rate
    trainer.remove_callback(PrinterCallback)  # prints every update
    return trainer


def _load_reference(job: Job, settings: DpoSettings) -> PreTrainedModel:
    """Loads the frozen reference in the policy's types: a policy must not differ from itself as reference."""
    assert job.base is not None
    assert job.reference is not None
    trains_all_weights = settings.adapter == "none" and not is_adapter(job.base)
    storage = replace(settings, precision="float32") if trains_all_weights else settings
    return load_policy(job.reference, storage, CPU, trainable=False)
