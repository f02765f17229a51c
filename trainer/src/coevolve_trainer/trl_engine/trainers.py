"""TRL's trainers with our batches, schedule and checkpoint files, and the losses of pairs (Eq. 7 and 9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, PreTrainedModel, PrinterCallback
from trl import DPOTrainer, SFTTrainer

from ..chat.encoder import ChatEncoder
from ..job import Job
from ..losses.preference import dpo_loss, target_loss
from ..models.policy import load_reference_model
from ..settings import DpoSettings, TargetSettings, TrainSettings
from ..updates.dataset_job import learning_rate
from .arguments import require_distribution
from .batches import Batches, DemonstrationBuilder, PairBuilder
from .micro_batches import Plan

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
        assert job.reference is not None
        reference = load_reference_model(job.reference, settings, job.base, CPU)
        unread = datasets.Dataset.from_list([{"prompt": "a", "chosen": "b", "rejected": "c"}])
        trainer = PairTrainer(**common, train_dataset=unread, ref_model=reference)
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


class _JobTrainer:
    """What both trainers replace in transformers' Trainer, through its public methods."""

    batches: Batches
    relative_rate: Callable[[int], float]
    """Learning rate of an update, as a fraction of the peak."""
    loss_is_scaled_for_ga = True
    """The losses are summands of the update's loss, so Trainer must not average them over passes."""

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns this process's micro-batches; accelerate neither divides nor reorders them."""
        return DataLoader(self.batches, batch_size=1, shuffle=False, collate_fn=_only)

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> LambdaLR:
        trainer: Any = self
        trainer.lr_scheduler = LambdaLR(optimizer or trainer.optimizer, self.relative_rate)
        return trainer.lr_scheduler  # type: ignore[no-any-return]

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Returns all names: as in the builtin engine, norms and biases decay too."""
        return [name for name, _ in model.named_parameters()]

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Writes only the trained weights: no frozen base of an adapter, no tokenizer, no arguments."""
        trainer: Any = self
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            super().save_model(output_dir, _internal_call)  # type: ignore[misc]
        elif trainer.args.should_save:
            folder = Path(output_dir or trainer.args.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            trained = {
                n: p.detach().contiguous() for n, p in trainer.model.named_parameters() if p.requires_grad
            }
            save_file(trained, folder / "model.safetensors", metadata={"format": "pt"})

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        raise NotImplementedError


class DemonstrationTrainer(_JobTrainer, SFTTrainer):  # type: ignore[misc]
    """SFTTrainer's loss: the mean over all action tokens of an update. Its own loss has no weights."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        weights = inputs.pop("weights", None)
        if weights is None:
            return SFTTrainer.compute_loss(self, model, inputs, return_outputs, num_items_in_batch)
        logp = model(**inputs, use_cache=False, fused_lm_head=True).log_probs.sum(1)  # 0 at other tokens
        return -(weights * logp).sum() * self.accelerator.num_processes


class PairTrainer(_JobTrainer, DPOTrainer):  # type: ignore[misc]
    """Eq. 7 and Eq. 9 over DPOTrainer's log-probabilities.

    Its own loss is a mean per pass without weights. It needs one row per side, and as many pairs on every
    process, because it gathers them for its metrics.
    """

    sft_reduction = "mean"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pair_sums = torch.zeros(len(PAIR_METRICS) + 1, dtype=torch.float64, device=self.args.device)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        owners, pairs, lambdas, counts = (inputs[n] for n in ("owners", "pairs", "lambdas", "action_counts"))
        labels = inputs["input_ids"].masked_fill(inputs["completion_mask"] == 0, -100)
        fields = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        logp = model(**fields, labels=labels, use_cache=False, fused_lm_head=True).log_probs.sum(1)
        sums = logp.new_zeros(int(owners[-1]) + 1).index_add(0, owners, logp)
        examples = lambdas.shape[1]
        chosen, rejected = sums[:examples], sums[examples:]
        dpo = dpo_loss(chosen[pairs], rejected[: len(pairs)], *inputs["reference"], beta=self.beta)
        nll = -chosen if self.sft_reduction == "sum" else -chosen / counts
        by_example = torch.zeros_like(chosen).index_put((pairs,), dpo.loss)
        self._record(dpo.margin, chosen[pairs], rejected[: len(pairs)])
        return target_loss(by_example, nll, *lambdas).sum()

    def _record(self, margin: Tensor, chosen: Tensor, rejected: Tensor) -> None:
        """Adds the sums over a pass's pairs to the update's sums."""
        sums = [values.detach().sum() for values in (margin, (margin > 0).float(), chosen, rejected)]
        self.pair_sums += torch.stack([*sums, margin.new_tensor(len(margin))]).double()

    def take_pair_sums(self) -> dict[str, tuple[float, float]]:
        """Returns sum and count over an update's pairs, on all processes, and resets them. Collective."""
        *totals, count = self.accelerator.reduce(self.pair_sums, "sum").tolist()
        self.pair_sums = torch.zeros_like(self.pair_sums)
        return {name: (total, count) for name, total in zip(PAIR_METRICS, totals, strict=True)}


PAIR_METRICS = ("margin", "accuracy", "chosen_logp", "rejected_logp")


def _only(items: list[Any]) -> Any:
    return items[0]
