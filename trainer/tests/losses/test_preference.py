"""The losses of pairs and demonstrations satisfy their identities and equal computations by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.losses.preference import dpo_loss, sft_loss, target_loss

finite = st.floats(-200, 200)
betas = st.floats(0.01, 2.0)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=5), betas)
def test_at_the_reference_every_pair_has_loss_ln_2_for_any_beta(
    pairs: list[tuple[float, float]], beta: float
) -> None:
    chosen, rejected = torch.tensor(pairs, dtype=torch.float64).T
    loss, margin = dpo_loss(chosen, rejected, chosen, rejected, beta=beta)
    torch.testing.assert_close(loss, torch.full_like(loss, math.log(2)))
    assert torch.equal(margin, torch.zeros_like(margin))


@given(finite, finite, betas)
def test_the_gradient_of_a_log_ratio_is_minus_beta_sigmoid_of_minus_the_margin(
    a: float, b: float, beta: float
) -> None:
    chosen = torch.tensor([a], dtype=torch.float64, requires_grad=True)
    rejected = torch.tensor([b], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(1, dtype=torch.float64)
    dpo_loss(chosen, rejected, zero, zero, beta=beta).loss.sum().backward()  # type: ignore[no-untyped-call]
    expected = beta * torch.sigmoid(torch.tensor([-beta * (a - b)], dtype=torch.float64))
    torch.testing.assert_close(chosen.grad, -expected)
    torch.testing.assert_close(rejected.grad, expected)


def test_the_target_loss_with_lambdas_per_pair_equals_a_computation_by_hand() -> None:
    # pair 1: expert-target (0.5, 0.5); pair 2: failure-failure (1, 0). beta 0.1, reference 0 everywhere.
    # margins 0.1 * (-2 + 5) = 0.3 and 0.1 * (-4 + 3) = -0.1; NLL per token of chosen 2 / 4 and 4 / 2
    chosen, rejected = torch.tensor([-2.0, -4.0]), torch.tensor([-5.0, -3.0])
    dpo = dpo_loss(chosen, rejected, torch.zeros(2), torch.zeros(2), beta=0.1).loss
    loss = target_loss(
        dpo, -chosen / torch.tensor([4.0, 2.0]), torch.tensor([0.5, 1.0]), torch.tensor([0.5, 0.0])
    )
    by_hand = [0.5 * math.log(1 + math.exp(-0.3)) + 0.5 * 0.5, math.log(1 + math.exp(0.1))]
    torch.testing.assert_close(loss, torch.tensor(by_hand))


def test_sft_is_the_weighted_mean_over_action_tokens() -> None:
    # (1 * 6 nats + 3 * 2 nats) / (1 * 3 tokens + 3 * 1 token)
    weight = torch.tensor([1.0, 1.0, 1.0, 3.0]) / 6
    loss = sft_loss(torch.tensor([-1.0, -2.0, -3.0, -2.0]), weight)
    assert loss.item() == pytest.approx(2.0)


def test_dpo_rejects_a_beta_that_is_not_positive_and_unequal_shapes() -> None:
    two, three = torch.zeros(2), torch.zeros(3)
    with pytest.raises(ValueError, match=r"^beta must be positive, got 0$"):
        dpo_loss(two, two, two, two, beta=0)
    with pytest.raises(ValueError, match=r"^the four log-probabilities must share one shape$"):
        dpo_loss(two, two, two, three, beta=0.1)
