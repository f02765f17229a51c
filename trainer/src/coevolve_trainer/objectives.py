"""What an update minimises: from a batch of examples to one loss and the numbers worth watching."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from .batches import pad_rows
from .dataset import Example
from .logprobs import trajectory_logprobs
from .losses import dpo_loss, sft_loss, target_loss
from .settings import DpoSettings, TargetSettings

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


class Outcome(NamedTuple):
    loss: Tensor  # scalar, nats
    tokens: int
    metrics: dict[str, float]


Objective = Callable[["Qwen3ForCausalLM", list[int]], Outcome]


def sft_objective(examples: list[Example], pad_id: int) -> Objective:
    """Eq. 5 over the examples at the given indices."""

    def outcome(model: Qwen3ForCausalLM, batch: list[int]) -> Outcome:
        rows = pad_rows([examples[i].chosen for i in batch], pad_id)
        weight = torch.tensor([examples[i].lambda_sft for i in batch])
        return Outcome(sft_loss(trajectory_logprobs(model, rows), rows.counts, weight), rows.tokens, {})

    return outcome


def pair_objective(
    examples: list[Example], pad_id: int, reference: Tensor, settings: DpoSettings
) -> Objective:
    """Eq. 7 (dpo) or Eq. 9 (target), the mean over the batch's pairs. `reference` is [N, 2].

    Chosen and rejected share one forward pass. `dpo` is Eq. 7 for every pair and reads no lambda.
    """

    def outcome(model: Qwen3ForCausalLM, batch: list[int]) -> Outcome:
        rows = pad_rows([examples[i].chosen for i in batch] + [examples[i].rejected for i in batch], pad_id)
        chosen, rejected = trajectory_logprobs(model, rows).view(2, -1)
        dpo = dpo_loss(chosen, rejected, *reference[batch].T, beta=settings.beta)
        loss = dpo.loss
        if isinstance(settings, TargetSettings):
            nll = -chosen if settings.sft_reduction == "sum" else -chosen / rows.counts[: len(batch)]
            lambdas = torch.tensor([(examples[i].lambda_dpo, examples[i].lambda_sft) for i in batch]).T
            loss = target_loss(dpo.loss, nll, *lambdas)
        metrics = {
            "margin": dpo.margin.mean().item(),
            "accuracy": (dpo.margin > 0).float().mean().item(),
            "chosen_logp": chosen.mean().item(),
            "rejected_logp": rejected.mean().item(),
        }
        return Outcome(loss.mean(), rows.tokens, metrics)

    return outcome
