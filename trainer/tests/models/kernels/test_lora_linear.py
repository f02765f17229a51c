"""Layers computed together have the outputs and gradients of peft's layers."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import nn

from coevolve_trainer.models.kernels.lora_linear import fused_linears


def adapted_layers(dtype: torch.dtype, *, bias: bool = False, dropout: float = 0.0) -> list[nn.Module]:
    torch.manual_seed(2)
    model = nn.ModuleDict({name: nn.Linear(24, width, bias) for name, width in (("a", 40), ("b", 16))})
    config = LoraConfig(r=4, lora_alpha=6, lora_dropout=dropout, target_modules=["a", "b"])
    inject_adapter_in_model(config, model.to(dtype))
    for name, parameter in model.named_parameters():
        if ".lora_" in name:
            parameter.data = torch.randn_like(parameter, dtype=torch.float32)
    return [model["a"], model["b"]]


@pytest.mark.parametrize("bias", [False, True])
def test_fused_layers_have_the_outputs_and_gradients_of_separate_layers(bias: bool) -> None:
    layers = adapted_layers(torch.float32, bias=bias)
    inputs = [torch.randn(2, 7, 24).requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0])
    adapters = [p for layer in layers for p in layer.parameters() if p.requires_grad]
    found = fused_linears(layers, inputs[0])
    expected = [layer(inputs[1]) for layer in layers]
    torch.testing.assert_close(found, expected)
    slopes = [torch.randn_like(y) for y in found]
    one = torch.autograd.grad(found, [inputs[0], *adapters], slopes)
    other = torch.autograd.grad(expected, [inputs[1], *adapters], slopes)
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_fused_layers_in_bfloat16_are_as_close_to_float32_as_peft() -> None:
    x = torch.randn(64, 24)
    exact = [layer.float()(x.bfloat16().float()) for layer in adapted_layers(torch.bfloat16)]
    layers = adapted_layers(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found, peft = fused_linears(layers, x.bfloat16()), [layer(x.bfloat16()) for layer in layers]
    for ours, theirs, expected in zip(found, peft, exact, strict=True):
        assert ours.dtype == theirs.dtype == torch.bfloat16
        assert (ours - expected).norm() <= 1.1 * (theirs - expected).norm()


def test_layers_with_dropout_are_not_fused() -> None:
    layers: list[Any] = adapted_layers(torch.float32, dropout=0.5)
    x = torch.randn(3, 24)
    torch.manual_seed(1)
    found = fused_linears(layers, x)
    torch.manual_seed(1)
    torch.testing.assert_close(found, [layer(x) for layer in layers])
