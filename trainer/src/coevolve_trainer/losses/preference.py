"""The losses of demonstrations and preference pairs; pure functions of log-probabilities.

Equations are numbered as in "Co-Evolving Agents" (arXiv:2511.22254v1). Log-probabilities are in nats, summed
over the action tokens of a trajectory. [B] is the batch axis; the caller reduces it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor


class DpoLoss(NamedTuple):
    loss: Tensor  # [B]  nats, >= 0
    margin: Tensor  # [B]  implicit reward of chosen minus rejected, detached; > 0 means ranked right


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    *,
    beta: float,
) -> DpoLoss:
    """Returns -log sigmoid(beta * (chosen log-ratio - rejected log-ratio)) per pair: Eq. 7.

    Source: Rafailov et al. 2023, arXiv:2305.18290. Every tensor is [B].

    Raises:
        ValueError: `beta` is not positive, or the shapes differ.
    """
    if beta <= 0:
        raise ValueError(f"beta must be positive, got {beta}")
    if len({t.shape for t in (policy_chosen, policy_rejected, reference_chosen, reference_rejected)}) != 1:
        raise ValueError("the four log-probabilities must share one shape")

    margin = beta * ((policy_chosen - reference_chosen) - (policy_rejected - reference_rejected))
    return DpoLoss(loss=-F.logsigmoid(margin), margin=margin.detach())


def sft_loss(logp: Tensor, weight: Tensor) -> Tensor:
    """Returns the weighted negative log-likelihood of action tokens, scalar: Eq. 5.

    `logp` and `weight` are [A], per token; the weights of an update sum to 1, so that it is a mean. The
    losses of micro-batches add up to the loss of the batch.
    """
    return -(weight * logp).sum()


def target_loss(dpo: Tensor, chosen_nll: Tensor, lambda_dpo: Tensor, lambda_sft: Tensor) -> Tensor:
    """Returns lambda_dpo * DPO + lambda_sft * NLL(chosen), [B], both lambdas per pair: Eq. 9."""
    return lambda_dpo * dpo + lambda_sft * chosen_nll
