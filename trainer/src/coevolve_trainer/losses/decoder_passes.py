"""Passes through transformers' own modules: any decoder, on any device, without kernels of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..data.packed_batch import PackedBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class DecoderOutput(NamedTuple):
    """The outputs from which the P distinct predictions of a packed batch are made."""

    states: Tensor | None  # [P, D] states before the output head
    logits: Tensor | None  # [P, V]; only of a head that is more than a product


class DecoderPasses:
    """Computes packed batches without shared prefixes: `Packing` with `shares_prefixes=False`.

    Rows are padded at their ends, so that causal attention needs no mask and SDPA can choose its fastest
    kernel. With `padding_free` they follow one another in one row, which flash attention divides by
    `cu_seq_lens`; without flash attention transformers masks other rows by the position ids.
    """

    def __init__(self, decoder: PreTrainedModel, *, padding_free: bool, compile: bool) -> None:
        """Makes a short pass, so it needs the caller's autocast, as every pass."""
        self.decoder, self.padding_free = decoder, padding_free
        self.has_plain_head = _has_plain_head(decoder)
        if compile:
            for layer in decoder_layers(decoder):
                # By layer, as all have the same graph; with shapes as variables, as batches differ in length
                layer.compile(dynamic=True)

    def __call__(self, packed: PackedBatch, *, needs_states: bool) -> DecoderOutput:
        """Returns states for a plain head; otherwise logits, and with `needs_states` states too."""
        if any(block.prefix for block in packed.blocks):
            raise ValueError("a batch with shared prefixes, expected Packing(shares_prefixes=False)")
        widths = [block.width for block in packed.blocks for _ in range(block.node_count)]
        inputs, row_length = self._inputs(packed, widths)
        rows = torch.arange(len(widths), device=packed.input_ids.device).repeat_interleave(
            torch.tensor(widths, device=packed.input_ids.device)
        )
        token = torch.arange(len(rows), device=rows.device)
        index = token if self.padding_free else rows * row_length + packed.position_ids
        source = index[packed.source_index]
        if self.has_plain_head:
            states = self.decoder.base_model(**inputs, use_cache=False).last_hidden_state
            return DecoderOutput(states.flatten(0, 1).index_select(0, source), None)
        # Logits at the kept positions of every row: the model itself caps or scales them
        kept, position = torch.unique(source % row_length, return_inverse=True)
        options = {"use_cache": False, "logits_to_keep": kept, "output_hidden_states": needs_states}
        output: Any = self.decoder(**inputs, **options)
        logits = output.logits[source // row_length, position]
        states = output.hidden_states[-1].flatten(0, 1).index_select(0, source) if needs_states else None
        return DecoderOutput(states, logits)

    def _inputs(self, packed: PackedBatch, widths: list[int]) -> tuple[dict[str, Any], int]:
        """Returns the decoder's inputs and the length of a row of them."""
        if not self.padding_free:
            ids = pad_sequence(list(torch.split(packed.input_ids, widths)), batch_first=True)
            return {"input_ids": ids}, ids.shape[1]
        ends = torch.tensor([0, *widths], dtype=torch.int32, device=packed.input_ids.device).cumsum(
            0, dtype=torch.int32
        )
        inputs: dict[str, Any] = {
            "input_ids": packed.input_ids[None],
            "position_ids": packed.position_ids[None],
        }
        inputs |= {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends}
        inputs |= {"max_length_q": max(widths), "max_length_k": max(widths)}
        return inputs, len(packed.input_ids)


def use_flash_attention(decoder: PreTrainedModel, device: torch.device, dtype: torch.dtype) -> bool:
    """Selects flash attention where it is installed and the model supports it; returns whether it did."""
    from transformers.utils.import_utils import is_flash_attn_2_available

    supported = getattr(decoder, "_supports_flash_attn", False)
    if device.type != "cuda" or dtype != torch.bfloat16 or not supported or not is_flash_attn_2_available():
        return False
    decoder.set_attn_implementation("flash_attention_2")
    return True


def decoder_layers(decoder: PreTrainedModel) -> list[nn.Module]:
    """Returns the decoder's layers: the longest list of modules in its body."""
    modules = decoder.base_model.modules()
    return max((list(module) for module in modules if isinstance(module, nn.ModuleList)), key=len)


@torch.no_grad()
def _has_plain_head(decoder: PreTrainedModel) -> bool:
    """Returns whether logits are the output head's product alone: no soft cap (Gemma 2), no scale (Cohere).

    Compared on a short row, because transformers has no common name for such steps.
    """
    head: Any = decoder.get_output_embeddings()
    ids = torch.arange(8, device=decoder.device)[None]
    was_training = decoder.training
    decoder.train(False)
    try:
        states = decoder.base_model(input_ids=ids, use_cache=False).last_hidden_state
        found = decoder(input_ids=ids, use_cache=False).logits
        return torch.allclose(found.float(), head(states).float(), rtol=1e-6, atol=1e-6)
    finally:
        decoder.train(was_training)
