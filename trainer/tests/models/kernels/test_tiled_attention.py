"""Attention by tiles has the outputs and gradients of torch's attention for any visible keys."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from coevolve_trainer.models.kernels import tiled_attention as module
from coevolve_trainer.models.kernels.tiled_attention import plan_tiles, tiled_attention


def outputs_and_gradients(
    last: list[int], keys: int, rows: int, dtype: torch.dtype
) -> tuple[list[Tensor], list[Tensor]]:
    """Returns outputs and gradients of tiles, and of torch's kernel in float32."""
    generator = torch.Generator().manual_seed(len(last))
    shapes = [(rows, 4, len(last), 8), (rows, 2, keys, 8), (rows, 2, keys, 8)]
    given = [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]
    wide = [tensor.detach().float().requires_grad_() for tensor in given]
    visible = torch.arange(keys) <= torch.tensor(last)[:, None]
    query, key, value = given
    found = tiled_attention(query, key, value, plan_tiles(torch.tensor(last)), 0.3)
    expected = F.scaled_dot_product_attention(wide[0], wide[1], wide[2], visible, scale=0.3, enable_gqa=True)
    slope = torch.randn(expected.shape, generator=generator).to(dtype)
    return (
        [found, *torch.autograd.grad(found, given, slope)],
        [expected, *torch.autograd.grad(expected, wide, slope.float())],
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=40).map(sorted),
    st.integers(0, 5),
    st.integers(1, 3),
    st.sampled_from([(1, 0), (7, 100), (128, 100)]),
)
def test_tiles_of_any_size_give_the_attention_of_the_whole(
    last: list[int], more: int, rows: int, sizes: tuple[int, int]
) -> None:
    """The softmax is kept or computed again; some keys are not visible to any query."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TILE", sizes[0])
        patch.setattr(module, "MAX_KEYS_KEPT", sizes[1])
        found, expected = outputs_and_gradients(last, last[-1] + 1 + more, rows, torch.float32)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_tiles_in_bfloat16_are_close_to_float32() -> None:
    found, expected = outputs_and_gradients(list(range(10, 310)), 310, 1, torch.bfloat16)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.bfloat16
        assert (one.float() - other).norm() < 0.01 * other.norm()
