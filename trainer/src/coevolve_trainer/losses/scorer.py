"""Computes the log-probabilities of the action tokens of a packed batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from ..data.packed_batch import PackedBatch
from ..models.kernels.block_attention import plan_attention, plan_query_attention, use_block_attention
from ..models.kernels.fast_layers import use_fast_layers
from .decoder_passes import DecoderOutput, DecoderPasses, use_flash_attention
from .linear_logprobs import linear_logprobs

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Scores(NamedTuple):
    """The policy's outputs for the action tokens of a packed batch; [A] is their axis."""

    logp: Tensor  # [A] nats
    values: Tensor | None  # [A] in units of reward; only with a value head


Scorer = Callable[[PackedBatch], Scores]


class PolicyScorer(nn.Module):
    """The decoder's body, its output head at action positions only, and PPO's value head if there is one.

    All calls of body and head go through this module, so that FSDP can wrap it. With `kernels: cpu` it
    modifies the decoder, whose attention is computed by blocks from then on; with `transformers` batches
    must not share prefixes. With `precision: bfloat16` products are computed in bfloat16 and the softmax in
    float32; the caller must not use autocast.
    """

    def __init__(
        self,
        decoder: PreTrainedModel,
        value_head: nn.Linear | None = None,
        *,
        precision: str = "float32",
        kernels: str = "cpu",
        compile: bool = False,
        padding_free: bool | None = None,
    ) -> None:
        """Takes resolved settings; `padding_free` None means: if flash attention can be used."""
        super().__init__()
        self.decoder, self.value_head = decoder, value_head
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.passes: DecoderPasses | None = None
        if kernels == "cpu":
            use_block_attention(decoder)
            use_fast_layers(decoder)
            return
        if padding_free is None:
            padding_free = use_flash_attention(decoder, decoder.device, self.dtype)
        with self._autocast():
            self.passes = DecoderPasses(decoder, padding_free=padding_free, compile=compile)

    def forward(self, packed: PackedBatch) -> Scores:
        """Returns the scores of the batch's A action tokens, in order, on the decoder's device."""
        packed = packed.to(self.decoder.device)
        with self._autocast():
            states, logits = self._outputs(packed)
            values = None if self.value_head is None else self.value_head(states).squeeze(1).float()
        if logits is not None:
            logp = logits.float().log_softmax(1).gather(1, packed.target_ids[:, None]).squeeze(1)
        else:
            assert states is not None
            head: Any = self.decoder.get_output_embeddings()
            logp = linear_logprobs(states.to(self.dtype), head.weight, head.bias, packed.target_ids)
        index = packed.prediction_index
        return Scores(logp[index], None if values is None else values[index])

    def _autocast(self) -> torch.autocast:
        """A frozen bfloat16 base cannot be multiplied with a float32 adapter without it."""
        enabled = self.dtype == torch.bfloat16
        return torch.autocast(self.decoder.device.type, torch.bfloat16, enabled=enabled)

    def _outputs(self, packed: PackedBatch) -> DecoderOutput:
        if self.passes is None:
            return DecoderOutput(self._states(packed), None)
        return self.passes(packed, needs_states=self.value_head is not None)

    def _states(self, packed: PackedBatch) -> Tensor:
        """Returns [P, D]: the state from which each prediction is made, by the kernels for CPUs."""
        device = packed.input_ids.device
        kept, inverse = torch.unique(packed.source_index, return_inverse=True)
        states: Tensor = self.decoder.base_model(
            input_ids=packed.input_ids[None],
            position_ids=packed.position_ids[None],
            use_cache=False,
            attention_plan=plan_attention(packed.blocks, self.dtype, device),
            kept=kept,
            kept_plan=plan_query_attention(packed.blocks, kept, self.dtype),
        ).last_hidden_state[0]
        states = states if len(states) == len(kept) else states.index_select(0, kept)
        return states.index_select(0, inverse)
