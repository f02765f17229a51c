"""Chunked log-probabilities have the values and gradients of the plain computation."""

import pytest
import torch

from coevolve_trainer.losses import linear_logprobs as module
from coevolve_trainer.losses.linear_logprobs import linear_logprobs


@pytest.mark.parametrize("kept", [2**24, 50, 1])
@pytest.mark.parametrize("with_bias", [False, True])
def test_chunks_compute_the_log_softmax_and_its_gradient(
    kept: int, with_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_LOGITS", kept)
    generator = torch.Generator().manual_seed(1)
    states, weight = torch.randn(13, 8, generator=generator), torch.randn(11, 8, generator=generator)
    bias = torch.randn(11, generator=generator) if with_bias else None
    ids = torch.randint(0, 11, (13,), generator=generator)
    inputs = [t.requires_grad_() for t in (states, weight, bias) if t is not None]
    chunked = linear_logprobs(states, weight, bias, ids)
    plain = torch.nn.functional.linear(states, weight, bias).log_softmax(-1)[torch.arange(13), ids]
    torch.testing.assert_close(chunked, plain)
    slope = torch.randn(13, generator=generator)
    for one, other in zip(
        torch.autograd.grad(chunked, inputs, slope), torch.autograd.grad(plain, inputs, slope), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_a_frozen_head_has_no_gradient_and_the_softmax_of_bfloat16_is_float32() -> None:
    states, weight = torch.randn(5, 8, dtype=torch.bfloat16, requires_grad=True), torch.randn(11, 8)
    logp = linear_logprobs(states, weight, None, torch.arange(5))
    assert logp.dtype == torch.float32
    logits = (states @ weight.bfloat16().T).float()
    torch.testing.assert_close(logp, logits.log_softmax(-1)[torch.arange(5), torch.arange(5)])
    logp.sum().backward()  # type: ignore[no-untyped-call]
    assert states.grad is not None
    assert weight.grad is None
