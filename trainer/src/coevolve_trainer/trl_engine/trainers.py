"""TRL's trainers with our batches, schedule and checkpoint files, and the losses of pairs (Eq. 7 and 9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from trl import DPOTrainer, SFTTrainer

from ..losses.preference import dpo_loss, target_loss
from .batches import Batches


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
