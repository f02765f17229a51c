"""The losses of reinforcement learning satisfy their identities and equal computations by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.losses.reinforcement import (
    clipped_surrogate,
    generalized_advantages,
    importance_weights,
    kl_to_reference,
    normalize_advantages,
    policy_loss,
    token_weights,
    value_loss,
)

logprob = st.floats(-8, 0)
CLIP = {"clip_low": 0.2, "clip_high": 0.28}


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "gradient", "clipped"),
    [
        (1.0, 2.0, 2.0, 2.0, None),
        (1.27, 1.0, 1.27, 1.27, None),  # inside the wide upper bound
        (1.29, 1.0, 1.28, 0.0, "high"),
        (1.29, -1.0, -1.29, -1.29, None),  # the minimum selects the unclipped term
        (0.81, -1.0, -0.81, -0.81, None),
        (0.79, -1.0, -0.8, 0.0, "low"),
        (0.79, 1.0, 0.79, 0.79, None),
        (0.5, 0.5, 0.25, 0.25, None),
        (0.5, 0.0, 0.0, 0.0, None),
        (1.5, 0.0, 0.0, 0.0, None),
    ],
)
def test_the_clip_is_asymmetric_and_stops_only_gradients_away_from_the_old_policy(
    ratio: float, advantage: float, value: float, gradient: float, clipped: str | None
) -> None:
    logp = tensor(math.log(ratio)).requires_grad_()
    found = clipped_surrogate(logp, tensor(0.0), tensor(advantage), **CLIP)
    found.value.sum().backward()  # type: ignore[no-untyped-call]
    assert found.value.item() == pytest.approx(value)
    assert logp.grad is not None
    assert logp.grad.item() == pytest.approx(gradient)  # dr / dlogp = r
    assert found.ratio.item() == pytest.approx(ratio)
    assert (found.clipped_low.item(), found.clipped_high.item()) == (clipped == "low", clipped == "high")


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_ratio_exactly_at_a_bound_is_not_clipped(advantage: float) -> None:
    found = clipped_surrogate(tensor(-1.0), tensor(-1.0), tensor(advantage), clip_low=0.0, clip_high=0.0)
    assert not found.clipped_low.any()
    assert not found.clipped_high.any()


@given(st.lists(st.tuples(logprob, logprob), min_size=1, max_size=6))
def test_the_kl_estimate_is_not_negative_and_zero_with_zero_gradient_at_the_reference(
    pairs: list[tuple[float, float]],
) -> None:
    policy, reference = torch.tensor(pairs, dtype=torch.float64).T
    assert (kl_to_reference(policy, reference) >= 0).all()
    at_reference = reference.clone().requires_grad_()
    kl = kl_to_reference(at_reference, reference)
    kl.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(kl, torch.zeros_like(kl))
    assert torch.equal(at_reference.grad, torch.zeros_like(reference))


def test_the_mean_of_the_kl_estimate_over_the_policys_tokens_is_the_divergence() -> None:
    policy, reference = (
        torch.tensor(p, dtype=torch.float64).log() for p in ([0.5, 0.3, 0.2], [0.2, 0.2, 0.6])
    )
    expected = (policy.exp() * (policy - reference)).sum()
    torch.testing.assert_close((policy.exp() * kl_to_reference(policy, reference)).sum(), expected)


def test_the_tokens_of_a_group_or_of_an_attempt_or_all_have_equal_weights() -> None:
    # trajectories of 1, 3 and 2 tokens; the first two form group 0, the third group 1
    trajectory, group = torch.tensor([0, 1, 1, 1, 2, 2]), torch.tensor([0, 0, 1])
    torch.testing.assert_close(
        token_weights(trajectory, group, "group"), torch.tensor([1 / 8] * 4 + [1 / 4] * 2)
    )
    torch.testing.assert_close(token_weights(trajectory, group, "batch"), torch.full((6,), 1 / 6))
    torch.testing.assert_close(
        token_weights(trajectory, group, "attempt"), torch.tensor([1 / 3] + [1 / 9] * 3 + [1 / 6] * 2)
    )
    with pytest.raises(ValueError, match="aggregation must be group, attempt or batch, got token"):
        token_weights(trajectory, group, "token")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=8))
def test_the_weights_of_a_batch_sum_to_1(trajectories: list[tuple[int, int]]) -> None:
    groups, counts = torch.tensor(trajectories).T
    names = torch.unique(groups, return_inverse=True)[1]
    trajectory = torch.repeat_interleave(torch.arange(len(counts)), counts)
    for aggregation in ("group", "attempt", "batch"):
        weights = token_weights(trajectory, names, aggregation)
        assert weights.sum().item() == pytest.approx(1, abs=1e-5)


def test_with_all_advantages_zero_only_the_kl_term_has_a_gradient() -> None:
    logp = tensor(-1.0, -2.0).requires_grad_()
    reference, weight = tensor(-1.5, -1.0), tensor(0.5, 0.5)
    surrogate = clipped_surrogate(logp, logp.detach(), torch.zeros(2, dtype=torch.float64), **CLIP)
    loss = policy_loss(surrogate.value, kl_to_reference(logp, reference), weight, kl_coefficient=0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    by_hand = [0.1 * 0.5 * (1 - math.exp(r - p)) for p, r in ((-1.0, -1.5), (-2.0, -1.0))]
    torch.testing.assert_close(logp.grad, torch.tensor(by_hand, dtype=torch.float64))


def test_generalized_advantages_equal_a_computation_by_hand() -> None:
    # V = 0.5, 0.25, 0.75; R = 1; gamma 0.5, lambda 0.5
    # delta: 0.125 - 0.5 = -0.375; 0.375 - 0.25 = 0.125; 1 - 0.75 = 0.25
    # A: 0.25; 0.125 + 0.25 * 0.25 = 0.1875; -0.375 + 0.25 * 0.1875 = -0.328125
    found = generalized_advantages(torch.tensor([0.5, 0.25, 0.75]), 1.0, gamma=0.5, gae_lambda=0.5)
    torch.testing.assert_close(found, torch.tensor([-0.328125, 0.1875, 0.25]))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=9), st.floats(0, 1))
def test_without_discount_and_with_lambda_1_the_advantage_is_reward_minus_value(
    values: list[float], reward: float
) -> None:
    found = generalized_advantages(tensor(*values), reward, gamma=1.0, gae_lambda=1.0)
    torch.testing.assert_close(found, reward - tensor(*values), atol=1e-9, rtol=0)


def test_normalized_advantages_have_mean_0_and_deviation_1_and_equal_ones_are_0() -> None:
    found = normalize_advantages(torch.tensor([1.0, 2.0, 3.0, 6.0]))
    assert found.mean().item() == pytest.approx(0, abs=1e-6)
    assert found.square().mean().item() == pytest.approx(1, abs=1e-4)
    assert torch.equal(normalize_advantages(torch.full((3,), 0.7)), torch.zeros(3))


def test_advantages_that_differ_only_by_rounding_are_not_scaled_to_deviation_1() -> None:
    found = normalize_advantages(tensor(1e-6, -1e-6))
    torch.testing.assert_close(found, tensor(0.5, -0.5))  # 1e-6 / (1e-6 + 1e-6)


def test_the_value_loss_is_the_weighted_squared_error() -> None:
    assert value_loss(tensor(1.0, 2.0), tensor(0.0, 4.0), tensor(0.25, 0.75)).item() == pytest.approx(3.25)


def test_importance_weights_are_quotients_of_probabilities_up_to_the_truncation() -> None:
    trainer, server = tensor(0.5, 0.2, 0.9).log(), tensor(0.25, 0.4, 0.1).log()
    assert importance_weights(trainer, server, 3.0).tolist() == pytest.approx([2, 0.5, 3])
