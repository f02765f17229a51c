"""The losses of a softmax table over a small action tree, compared with the equations in plain Python.

Eq. 5, 7 and 9 are in "Co-Evolving Agents" (arXiv:2511.22254), Eq. 1 is in "CoEvolve" (2604.15840).
"""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from coevolve_trainer.losses.preference import dpo_loss, sft_loss, target_loss
from coevolve_trainer.losses.reinforcement import (
    clipped_surrogate,
    kl_to_reference,
    policy_loss,
    token_weights,
)

STATES, ACTIONS, BETA = 3, 4, 0.3
CHOSEN = [(0, 1), (1, 3), (2, 0)]  # (state, action) along a trajectory
REJECTED = [(0, 1), (1, 2)]
WEIGHTS = (0.5, 0.7)  # lambda_dpo, lambda_sft

# Two tasks with two rollouts each, (trajectory, advantage): the groups of Eq. 1 have 5 and 4 tokens.
GROUPS = [
    [(CHOSEN, 1.0), (REJECTED, -1.0)],
    [([(0, 2), (1, 0), (2, 3)], -0.5), ([(0, 0)], 0.5)],
]
CLIP_LOW, CLIP_HIGH, KL = 0.2, 0.28, 0.05

Table = list[list[float]]


def plain_logp(table: Table, trajectory: list[tuple[int, int]]) -> float:
    return sum(table[s][a] - math.log(sum(math.exp(x) for x in table[s])) for s, a in trajectory)


def plain_losses(table: Table, reference: Table) -> dict[str, float]:
    """Computes the equations as printed, in plain Python."""
    chosen, rejected = plain_logp(table, CHOSEN), plain_logp(table, REJECTED)
    margin = BETA * (chosen - plain_logp(reference, CHOSEN)) - BETA * (
        rejected - plain_logp(reference, REJECTED)
    )
    dpo = -math.log(1 / (1 + math.exp(-margin)))
    return {"eq5": -chosen / len(CHOSEN), "eq7": dpo, "eq9": WEIGHTS[0] * dpo - WEIGHTS[1] * chosen}


def torch_logp(table: Tensor, trajectory: list[tuple[int, int]]) -> Tensor:
    states, actions = torch.tensor(trajectory).T
    return table.log_softmax(-1)[states, actions].sum()[None]


def torch_losses(table: Tensor, reference: Tensor) -> dict[str, Tensor]:
    chosen, rejected = torch_logp(table, CHOSEN), torch_logp(table, REJECTED)
    dpo = dpo_loss(
        chosen, rejected, torch_logp(reference, CHOSEN), torch_logp(reference, REJECTED), beta=BETA
    ).loss
    lambdas = [torch.tensor([weight], dtype=torch.float64) for weight in WEIGHTS]
    return {
        "eq5": sft_loss(chosen, torch.tensor([1 / len(CHOSEN)])),
        "eq7": dpo.sum(),
        "eq9": target_loss(dpo, -chosen, *lambdas).sum(),
    }


def finite_difference(loss: Callable[[Table], float], table: Table, step: float = 1e-5) -> list[list[float]]:
    def moved(s: int, a: int, by: float) -> float:
        copy = [row[:] for row in table]
        copy[s][a] += by
        return loss(copy)

    return [
        [(moved(s, a, step) - moved(s, a, -step)) / (2 * step) for a in range(ACTIONS)] for s in range(STATES)
    ]


@pytest.mark.parametrize("equation", ["eq5", "eq7", "eq9"])
def test_value_and_gradient_equal_the_equation_and_its_finite_differences(equation: str) -> None:
    generator = torch.Generator().manual_seed(3)
    table = torch.randn(STATES, ACTIONS, generator=generator, dtype=torch.float64, requires_grad=True)
    reference = torch.randn(STATES, ACTIONS, generator=generator, dtype=torch.float64)
    loss = torch_losses(table, reference)[equation]
    loss.backward()  # type: ignore[no-untyped-call]

    plain, frozen = table.detach().tolist(), reference.tolist()
    assert loss.item() == pytest.approx(plain_losses(plain, frozen)[equation])
    expected = finite_difference(lambda t: plain_losses(t, frozen)[equation], plain)
    torch.testing.assert_close(table.grad, torch.tensor(expected, dtype=torch.float64), atol=1e-8, rtol=1e-5)


def plain_eq1(table: Table, old: Table, reference: Table, aggregation: str) -> float:
    """Computes -J of Eq. 1 as printed, with the k3 estimate of the divergence, in plain Python."""

    def terms(trajectory: list[tuple[int, int]], advantage: float) -> list[float]:
        found = []
        for pair in trajectory:
            ratio = math.exp(plain_logp(table, [pair]) - plain_logp(old, [pair]))
            clipped = min(max(ratio, 1 - CLIP_LOW), 1 + CLIP_HIGH)
            d = plain_logp(reference, [pair]) - plain_logp(table, [pair])
            found.append(min(ratio * advantage, clipped * advantage) - KL * (math.exp(d) - d - 1))
        return found

    groups = [[x for rollout in group for x in terms(*rollout)] for group in GROUPS]
    if aggregation == "attempt":
        groups = [terms(*rollout) for group in GROUPS for rollout in group]
    if aggregation == "batch":
        groups = [[x for group in groups for x in group]]
    return -sum(sum(group) / len(group) for group in groups) / len(groups)


def torch_eq1(table: Tensor, old: Tensor, reference: Tensor, aggregation: str) -> Tensor:
    rollouts = [rollout for group in GROUPS for rollout in group]
    states, actions = torch.tensor([pair for trajectory, _ in rollouts for pair in trajectory]).T
    owner = torch.tensor([k for k, (trajectory, _) in enumerate(rollouts) for _ in trajectory])
    group = torch.tensor([g for g, rollouts_g in enumerate(GROUPS) for _ in rollouts_g])
    advantage = torch.tensor([a for _, a in rollouts], dtype=torch.float64)[owner]
    logp, old_logp, reference_logp = (x.log_softmax(-1)[states, actions] for x in (table, old, reference))
    surrogate = clipped_surrogate(logp, old_logp, advantage, clip_low=CLIP_LOW, clip_high=CLIP_HIGH)
    assert surrogate.clipped_low.any()
    assert surrogate.clipped_high.any()
    weight = token_weights(owner, group, aggregation)
    return policy_loss(surrogate.value, kl_to_reference(logp, reference_logp), weight, kl_coefficient=KL)


@pytest.mark.parametrize("aggregation", ["group", "attempt", "batch"])
def test_loss_and_gradient_equal_the_printed_eq_1_within_and_beyond_the_clip(
    aggregation: str,
) -> None:
    generator = torch.Generator().manual_seed(5)
    table, old, reference = (
        torch.randn(STATES, ACTIONS, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    table.requires_grad_()
    loss = torch_eq1(table, old, reference, aggregation)
    loss.backward()  # type: ignore[no-untyped-call]

    frozen = old.tolist(), reference.tolist()
    assert loss.item() == pytest.approx(plain_eq1(table.tolist(), *frozen, aggregation), rel=1e-6)
    expected = finite_difference(lambda t: plain_eq1(t, *frozen, aggregation), table.tolist())
    torch.testing.assert_close(table.grad, torch.tensor(expected, dtype=torch.float64), atol=1e-7, rtol=1e-5)
