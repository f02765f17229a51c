"""The losses of reinforcement learning; pure functions of log-probabilities per token.

Equations are numbered as in "CoEvolve" (arXiv:2604.15840v1). Log-probabilities are in nats. [N] is the axis
of a batch's action tokens, in the order of its trajectories; [B] is the axis of the trajectories.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Surrogate(NamedTuple):
    value: Tensor  # [N] to be maximized
    ratio: Tensor  # [N] pi_theta / pi_old, detached
    clipped_low: Tensor  # [N] bool: the token's gradient is 0 because of the lower bound
    clipped_high: Tensor  # [N] bool: ... because of the upper bound


def clipped_surrogate(
    logp: Tensor, old_logp: Tensor, advantage: Tensor, *, clip_low: float, clip_high: float
) -> Surrogate:
    """CLIP(r, A) = min[r * A, clip(r, 1 - clip_low, 1 + clip_high) * A] with r = pi_theta / pi_old: Eq. 1.

    Eq. 1 has one epsilon; table 9 gives 0.20 below and 0.28 above. All tensors are [N]. `old_logp` belongs to
    the policy before the batch: recorded by the policy server when it sampled, or computed by the trainer.
    """
    ratio = torch.exp(logp - old_logp)
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    detached = ratio.detach()
    return Surrogate(
        value=torch.minimum(ratio * advantage, clipped * advantage),
        ratio=detached,
        clipped_low=(detached < 1 - clip_low) & (advantage < 0),
        clipped_high=(detached > 1 + clip_high) & (advantage > 0),
    )


def importance_weights(old_logp: Tensor, server_logp: Tensor, truncation: float) -> Tensor:
    """Returns min(pi_old / pi_server, truncation), [N], the factor of CLIP for tokens sampled by the server.

    The server samples with other kernels and another precision than the trainer computes with, so its tokens
    are off-policy even when both hold the same weights. Source: Yao et al. 2025, "Your efficient RL framework
    secretly brings you off-policy RL training"; the KL term has no weight, as in TRL.
    """
    return torch.exp(old_logp - server_logp).clamp(max=truncation)


def kl_to_reference(logp: Tensor, reference_logp: Tensor) -> Tensor:
    """KL(pi_theta || pi_ref) per token, the second term of Eq. 1, by the k3 estimator.

        k3 = exp(d) - d - 1   with   d = log pi_ref - log pi_theta

    [N] nats, >= 0, and 0 where both are equal. Unbiased when the tokens are drawn from pi_theta: here (up to
    the sampling temperature) in the first update on a batch. Source: Schulman 2020, "Approximating KL
    divergence".
    """
    difference = reference_logp - logp
    return torch.expm1(difference) - difference


def token_weights(trajectory: Tensor, group: Tensor, aggregation: str) -> Tensor:
    """Returns the weight of each action token in the mean, [N]; the weights sum to 1.

    `trajectory` is [N], each token's trajectory; `group` is [B], each trajectory's group. Aggregation `group`
    is Eq. 1: the mean over a group's tokens, 1 / sum_k |tau_k|, then the mean over groups. `attempt` is GRPO
    as first published (DeepSeekMath, arXiv:2402.03300, eq. 3): the mean over a trajectory's tokens, then over
    trajectories. `batch` is the mean over all tokens.

    Raises:
        ValueError: `aggregation` is none of them.
    """
    if aggregation == "batch":
        return torch.full((len(trajectory),), 1 / len(trajectory))
    if aggregation not in ("group", "attempt"):
        raise ValueError(f"aggregation must be group, attempt or batch, got {aggregation}")
    owner = trajectory if aggregation == "attempt" else group[trajectory]
    counts = torch.bincount(owner)
    return 1 / (counts[owner] * counts.count_nonzero())


def policy_loss(surrogate: Tensor, kl: Tensor, weight: Tensor, *, kl_coefficient: float) -> Tensor:
    """Returns -J(theta) of Eq. 1, scalar: minus the weighted mean of CLIP - kl_coefficient * KL.

    All tensors are [N]. The losses of micro-batches add up to the loss of the batch.
    """
    return -(weight * (surrogate - kl_coefficient * kl)).sum()


def value_loss(value: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Returns the weighted mean of (V - return)^2, scalar, in squared rewards. All tensors are [N]."""
    return (weight * (value - target).square()).sum()


def generalized_advantages(values: Tensor, reward: float, *, gamma: float, gae_lambda: float) -> Tensor:
    """Returns the advantages of one trajectory's action tokens, [T], with the reward at the last token.

        delta_t = r_t + gamma * V_{t+1} - V_t,   A_t = delta_t + gamma * gae_lambda * A_{t+1}

    `values` is [T]: V before each action token. r_t is 0 except for the last token, after which V and A are
    0. A + V is the target of the value head. Source: Schulman et al. 2016, arXiv:1506.02438, Eq. 16.
    """
    advantages: list[float] = []
    next_value, advantage = 0.0, 0.0
    for tokens_to_end, value in enumerate(reversed(values.tolist())):
        delta = (reward if tokens_to_end == 0 else 0.0) + gamma * next_value - value
        advantage = delta + gamma * gae_lambda * advantage
        next_value = value
        advantages.append(advantage)
    return torch.tensor(advantages[::-1], dtype=values.dtype)


def normalize_advantages(advantages: Tensor) -> Tensor:
    """Shifts [N] to mean 0 and scales it to standard deviation 1; all 0 when all are equal."""
    centered = advantages - advantages.mean()
    return centered / (centered.square().mean().sqrt() + 1e-6)
