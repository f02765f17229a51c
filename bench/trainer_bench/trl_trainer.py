"""TRL's SFTTrainer and DPOTrainer on the same rows, with their fastest options.

Pre-tokenized rows, no evaluation, no logging, no checkpoints, no gradient checkpointing. The variant
`trl-accelerated` adds what accelerations.py finds.

The batches equal our trainer's, with its length buckets. DPOTrainer's collator would include
observations in the completion; our collator gives it the mask of the actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, TrainerCallback
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from .accelerations import VARIANT, trl_arguments
from .baseline_model import load, pad_id
from .measure import Clock, measurement
from .request import Measurement, Request
from .rows import IGNORED, Example, Row, batches_of, pad, read_examples, token_count


def train(request: Request) -> Measurement:
    examples = read_examples(Path(request.pairs))
    clock = Clock()
    create = _sft if request.method == "sft" else _dpo
    trainer = create(request, examples, clock)
    trainer.train()
    trainer.stop_clock()
    updates, micro = [], request.batch_size // request.micro_batch
    for start in range(0, len(trainer.losses), micro):
        updates.append(torch.stack(trainer.losses[start : start + micro]).sum().item())
    return measurement(clock.elapsed, token_count(examples) * request.epochs, updates)


class _MicroBatchSampler:
    """Yields the micro-batches of the next epoch each time it is iterated."""

    def __init__(self, examples: Sequence[Example], request: Request) -> None:
        self._epochs = iter(batches_of(examples, request))
        self._micro_batch = request.micro_batch
        self._count = len(examples) // request.micro_batch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[int]]:
        for batch in next(self._epochs):
            for start in range(0, len(batch), self._micro_batch):
                yield batch[start : start + self._micro_batch]


class _MeasuredTrainer:
    """Gives a trainer our order of batches and records the loss of every micro-batch."""

    def measure(self, request: Request, examples: Sequence[Example], clock: Clock) -> None:
        self.losses: list[Tensor] = []
        self._sampler, self._clock = _MicroBatchSampler(examples, request), clock
        self.add_callback(_StartClock(clock))  # type: ignore[attr-defined]

    def stop_clock(self) -> None:
        self._clock.stop()

    def get_train_dataloader(self) -> DataLoader[Any]:
        source: Any = self.train_dataset  # type: ignore[attr-defined]
        return DataLoader(source, batch_sampler=self._sampler, collate_fn=self.data_collator)  # type: ignore[attr-defined]

    def training_step(self, *arguments: Any, **named: Any) -> Tensor:
        loss: Tensor = super().training_step(*arguments, **named)  # type: ignore[misc]
        self.losses.append(loss.detach())
        return loss


class _StartClock(TrainerCallback):  # type: ignore[misc]
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._clock.start()


class _Sft(_MeasuredTrainer, SFTTrainer):  # type: ignore[misc]
    pass


class _Dpo(_MeasuredTrainer, DPOTrainer):  # type: ignore[misc]
    """Includes the time of the reference's log-probabilities when they are computed before the training."""

    reference_clock: Clock | None = None

    def compute_ref_log_probs(self, *arguments: Any, **named: Any) -> Any:
        assert self.reference_clock is not None
        self.reference_clock.start()
        logprobs = super().compute_ref_log_probs(*arguments, **named)
        self.reference_clock.stop()
        return logprobs


def _sft(request: Request, examples: Sequence[Example], clock: Clock) -> Any:
    rows = [
        {
            "input_ids": row.input_ids,
            "labels": [t if m else IGNORED for t, m in zip(*row, strict=True)],
        }
        for (row,) in examples
    ]
    trainer = _Sft(
        args=SFTConfig(
            **_arguments(request), dataset_kwargs={"skip_prepare_dataset": True}, shuffle_dataset=False
        ),
        train_dataset=Dataset.from_list(rows),
        **_model(request),
    )
    trainer.measure(request, examples, clock)
    return trainer


def _dpo(request: Request, examples: Sequence[Example], clock: Clock) -> Any:
    text = {"prompt": "a", "chosen": "b", "rejected": "c"}  # DPOTrainer always tokenizes these columns
    _Dpo.reference_clock = clock
    precomputed = request.trainer in ("trl-precomputed", VARIANT)
    trainer = _Dpo(
        args=DPOConfig(
            **_arguments(request),
            beta=request.beta,
            precompute_ref_log_probs=precomputed,
            precompute_ref_batch_size=request.micro_batch,
            remove_unused_columns=False,
        ),
        data_collator=_Collator(pad_id(request)),
        train_dataset=Dataset.from_list([{**text, "rows": example} for example in examples]),
        **_model(request),
    )
    trainer.measure(request, examples, clock)
    return trainer


class _Collator:
    """Returns a batch of the chosen rows followed by the rejected rows, with a mask of the actions."""

    def __init__(self, pad_id: int) -> None:
        self._pad_id = pad_id

    def __call__(self, examples: list[dict[str, Any]]) -> dict[str, Tensor]:
        rows = [Row(*example["rows"][side]) for side in (0, 1) for example in examples]
        padded = pad(rows, self._pad_id)
        batch = {
            "input_ids": padded.input_ids,
            "attention_mask": padded.attention_mask,
            "completion_mask": padded.action_mask,
        }
        precomputed = [name for name in ("ref_chosen_logps", "ref_rejected_logps") if name in examples[0]]
        return batch | {name: torch.tensor([example[name] for example in examples]) for name in precomputed}


def _model(request: Request) -> dict[str, Any]:
    return {
        "model": load(request),
        "processing_class": AutoTokenizer.from_pretrained(request.policy),
    }


def _arguments(request: Request) -> dict[str, Any]:
    accelerated = trl_arguments(request.accelerations) if request.trainer == VARIANT else {}
    arguments = {
        "output_dir": request.work,
        "per_device_train_batch_size": request.micro_batch,
        "gradient_accumulation_steps": request.batch_size // request.micro_batch,
        "num_train_epochs": request.epochs,
        "learning_rate": request.learning_rate,
        "lr_scheduler_type": "constant",
        "warmup_steps": 0,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "max_length": request.max_length,
        "bf16": request.precision == "bfloat16",
        "gradient_checkpointing": False,
        "use_cpu": request.device == "cpu",
        "seed": request.seed,
        "logging_strategy": "no",
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": request.device != "cpu",
    }
    return arguments | accelerated
