"""What an update minimises: from a batch of examples to one loss and the numbers worth watching."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ..data.batches import pad_rows
from ..data.dataset import Example
from ..losses.logprobs import trajectory_logprobs
from ..losses.preference import dpo_loss, sft_loss, target_loss
from ..settings import DpoSettings, TargetSettings

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
    """Eq. 7 (dpo) or Eq. 9 (target), the mean over the batch. `reference` is [N, 2].

    Chosen and rejected share one forward pass. `dpo` is Eq. 7 for every pair and reads no lambda. In `target`
    a demonstration, which has no rejected side, gives Eq. 9's second term alone.
    """

    def outcome(model: Qwen3ForCausalLM, batch: list[int]) -> Outcome:
        pairs = [place for place, i in enumerate(batch) if examples[i].rejected]
        sides = [examples[i].chosen for i in batch] + [examples[batch[place]].rejected for place in pairs]
        rows = pad_rows(sides, pad_id)
        logprobs = trajectory_logprobs(model, rows)
        chosen, rejected = logprobs[: len(batch)], logprobs[len(batch) :]
        dpo = dpo_loss(chosen[pairs], rejected, *reference[[batch[p] for p in pairs]].T, beta=settings.beta)
        loss = dpo.loss
        if isinstance(settings, TargetSettings):
            nll = -chosen if settings.sft_reduction == "sum" else -chosen / rows.counts[: len(batch)]
            lambdas = torch.tensor([(examples[i].lambda_dpo, examples[i].lambda_sft) for i in batch]).T
            ranked = torch.zeros(len(batch)).index_put((torch.tensor(pairs, dtype=torch.long),), dpo.loss)
            loss = target_loss(ranked, nll, *lambdas)
        return Outcome(loss.mean(), rows.tokens, _watched(dpo.margin, chosen[pairs], rejected))

    return outcome


def _watched(margin: Tensor, chosen: Tensor, rejected: Tensor) -> dict[str, float]:
    """Means over the batch's pairs; nothing where it has none."""
    if not len(margin):
        return {}
    return {
        "margin": margin.mean().item(),
        "accuracy": (margin > 0).float().mean().item(),
        "chosen_logp": chosen.mean().item(),
        "rejected_logp": rejected.mean().item(),
    }
