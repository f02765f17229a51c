"""Equations 5, 7 and 9 on a softmax table over a small action tree, where everything can be done by hand."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from coevolve_trainer.losses import dpo_loss, sft_loss, target_loss

STATES, ACTIONS, BETA = 3, 4, 0.3
CHOSEN = [(0, 1), (1, 3), (2, 0)]  # (state, action) along a trajectory
REJECTED = [(0, 1), (1, 2)]
WEIGHTS = (0.5, 0.7)  # lambda_dpo, lambda_sft

Table = list[list[float]]


def plain_logp(table: Table, trajectory: list[tuple[int, int]]) -> float:
    return sum(table[s][a] - math.log(sum(math.exp(x) for x in table[s])) for s, a in trajectory)


def plain_losses(table: Table, reference: Table) -> dict[str, float]:
    """The equations as printed, in plain Python."""
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
    count, one = torch.tensor([float(len(CHOSEN))]), torch.ones(1)
    lambdas = [torch.tensor([weight], dtype=torch.float64) for weight in WEIGHTS]
    return {
        "eq5": sft_loss(chosen, count, one),
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
def test_value_and_gradient_agree_with_the_equation_by_finite_differences(equation: str) -> None:
    generator = torch.Generator().manual_seed(3)
    table = torch.randn(STATES, ACTIONS, generator=generator, dtype=torch.float64, requires_grad=True)
    reference = torch.randn(STATES, ACTIONS, generator=generator, dtype=torch.float64)
    loss = torch_losses(table, reference)[equation]
    loss.backward()  # type: ignore[no-untyped-call]

    plain, frozen = table.detach().tolist(), reference.tolist()
    assert loss.item() == pytest.approx(plain_losses(plain, frozen)[equation])
    expected = finite_difference(lambda t: plain_losses(t, frozen)[equation], plain)
    torch.testing.assert_close(table.grad, torch.tensor(expected, dtype=torch.float64), atol=1e-8, rtol=1e-5)
