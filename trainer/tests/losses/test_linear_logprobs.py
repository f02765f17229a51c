"""Chunked log-probabilities have the values and gradients of the plain computation, with less memory."""

from typing import Any

import pytest
import torch
from torch import Tensor

from coevolve_trainer.losses import linear_logprobs as module
from coevolve_trainer.losses.linear_logprobs import linear_logprobs

P, D, V = 13, 8, 11


def random_inputs(*, with_bias: bool, states_dtype: torch.dtype = torch.float32) -> tuple[Any, ...]:
    """Returns states [P, D], weight [V, D], bias [V] or None, and ids [P]."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(P, D, generator=generator).to(states_dtype)
    weight = torch.randn(V, D, generator=generator)
    bias = torch.randn(V, generator=generator) if with_bias else None
    return states, weight, bias, torch.randint(0, V, (P,), generator=generator)


def plain_logprobs(states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
    logits = torch.nn.functional.linear(states, weight, bias)
    return logits.float().log_softmax(-1)[torch.arange(len(ids)), ids]


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows of each matrix product, in the order of the calls."""
    calls: list[int] = []
    mm = torch.mm

    def counted(left: Tensor, *arguments: Any, **named: Any) -> Tensor:
        calls.append(len(left))
        return mm(left, *arguments, **named)

    monkeypatch.setattr(torch, "mm", counted)
    return calls


@pytest.mark.parametrize("max_logits", [2**24, 50, 1])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(
    "trained",
    [("states",), ("states", "weight"), ("states", "bias"), ("weight",), ("states", "weight", "bias")],
)
def test_values_and_gradients_are_those_of_the_log_softmax(
    max_logits: int, with_bias: bool, trained: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_LOGITS", max_logits)
    monkeypatch.setattr(module, "CHUNK_LOGITS", max_logits)
    states, weight, bias, ids = random_inputs(with_bias=with_bias)
    named = {"states": states, "weight": weight, "bias": bias}
    inputs = [named[name].requires_grad_() for name in trained if named[name] is not None]
    found, expected = linear_logprobs(states, weight, bias, ids), plain_logprobs(states, weight, bias, ids)
    torch.testing.assert_close(found, expected)
    upstream = torch.linspace(-2, 3, P)
    found_gradients = torch.autograd.grad(found, inputs, upstream)
    expected_gradients = torch.autograd.grad(expected, inputs, upstream)
    torch.testing.assert_close(found_gradients, expected_gradients, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_products_of_bfloat16_states_are_bfloat16_and_the_softmax_is_float32(is_frozen: bool) -> None:
    states, weight, bias, ids = random_inputs(with_bias=True, states_dtype=torch.bfloat16)
    states.requires_grad_()
    weight.requires_grad_(not is_frozen)
    bias.requires_grad_(not is_frozen)
    found = linear_logprobs(states, weight, bias, ids)
    assert found.dtype == torch.float32
    logits = (states @ weight.bfloat16().T).float() + bias
    expected = logits.log_softmax(-1)[torch.arange(P), ids]
    torch.testing.assert_close(found, expected)
    inputs = [states] if is_frozen else [states, weight, bias]
    found_gradients = torch.autograd.grad(found.sum(), inputs)
    expected_gradients = torch.autograd.grad(expected.sum(), inputs)
    assert [gradient.dtype for gradient in found_gradients] == [tensor.dtype for tensor in inputs]
    torch.testing.assert_close(found_gradients, expected_gradients, atol=0.05, rtol=0.02)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_the_result_is_float32_for_any_default_type(is_frozen: bool) -> None:
    states, weight, bias, ids = random_inputs(with_bias=True)
    states.requires_grad_()
    weight.requires_grad_(not is_frozen)
    torch.set_default_dtype(torch.float64)
    try:
        assert linear_logprobs(states, weight, bias, ids).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_all_tensors_are_on_the_device_of_the_states(is_frozen: bool) -> None:
    states, weight, ids = (torch.empty(shape, device="meta") for shape in ((P, D), (V, D), (P,)))
    states.requires_grad_()
    weight.requires_grad_(not is_frozen)
    found = linear_logprobs(states, weight, None, ids.long())
    assert found.device.type == "meta"
    (gradient,) = torch.autograd.grad(found.sum(), [states])
    assert gradient.shape == states.shape


def test_a_frozen_head_has_no_gradient() -> None:
    states, weight, bias, ids = random_inputs(with_bias=True)
    linear_logprobs(states.requires_grad_(), weight, bias, ids).sum().backward()  # type: ignore[no-untyped-call]
    assert states.grad is not None
    assert weight.grad is None
    assert bias.grad is None


@pytest.mark.parametrize(("max_logits", "kept"), [(P * V, P * V), (P * V - 1, 0)])
def test_logits_are_kept_only_up_to_the_limit(
    max_logits: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_LOGITS", max_logits)
    states, weight, _, ids = random_inputs(with_bias=False)
    found: Any = linear_logprobs(states.requires_grad_(), weight.requires_grad_(), None, ids)
    saved = sum(tensor.numel() for tensor in found.grad_fn.saved_tensors if tensor is not None)
    assert saved == states.numel() + weight.numel() + 2 * P + kept  # ids and the logarithm of the sum


def test_a_frozen_head_keeps_only_the_gradients_by_the_states() -> None:
    states, weight, _, ids = random_inputs(with_bias=False)
    found: Any = linear_logprobs(states.requires_grad_(), weight, None, ids)
    assert [tensor.shape for tensor in found.grad_fn.saved_tensors] == [states.shape]


def test_a_chunk_has_at_least_one_row_and_no_product_is_superfluous(
    products: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_LOGITS", 1)
    monkeypatch.setattr(module, "CHUNK_LOGITS", 1)
    states, weight, _, ids = random_inputs(with_bias=False)
    linear_logprobs(states, weight, None, ids)
    assert products == [1] * P  # frozen and without a gradient: only the logits
    products.clear()
    linear_logprobs(states.requires_grad_(), weight, None, ids).sum().backward()  # type: ignore[no-untyped-call]
    assert products == [1] * 2 * P  # frozen: logits and gradients in the forward pass
    products.clear()
    found = linear_logprobs(states.detach(), weight.requires_grad_(), None, ids)
    assert products == [1] * P
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert products == [1] * 2 * P  # the logits again, and no gradient by the states


def test_kept_logits_are_not_computed_again(products: list[int]) -> None:
    states, weight, _, ids = random_inputs(with_bias=False)
    found = linear_logprobs(states.requires_grad_(), weight.requires_grad_(), None, ids)
    assert products == [P]
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert products == [P, P]  # and the gradient by the states


def test_a_frozen_weight_with_a_trained_bias_has_no_gradient() -> None:
    states, weight, bias, ids = random_inputs(with_bias=True)
    found: Any = linear_logprobs(states, weight, bias.requires_grad_(), ids)
    gradients = found.grad_fn.apply(torch.ones(P))
    assert [gradient is not None for gradient in gradients] == [False, False, True, False]


def test_no_predictions_give_no_log_probabilities() -> None:
    states, weight, _, _ = random_inputs(with_bias=False)
    found = linear_logprobs(states[:0], weight.requires_grad_(), None, torch.empty(0, dtype=torch.long))
    assert found.shape == (0,)
    (gradient,) = torch.autograd.grad(found.sum(), [weight])
    assert not gradient.any()
