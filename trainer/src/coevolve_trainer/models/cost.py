"""Estimates of a pass: floating-point operations and memory for activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psutil
import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FREE_SHARE = 0.6  # fraction of the free memory for activations; the rest is for temporary tensors


def flops_per_token(model: PreTrainedModel, length: float, action_share: float = 1.0) -> float:
    """Returns the floating-point operations of a training token, forward and backward, in rows of `length`.

    Two per weight and token forward; four backward if the weight is trained, two if it is frozen and only
    propagates gradients (LoRA). Attention adds 4 * layers * heads * head_dim * length / 2 forward (half of
    the square is masked) and twice that backward. The output head, as large as the embedding, is applied to
    the fraction `action_share` of the tokens; an embedding lookup costs nothing. Source: Kaplan et al. 2020,
    arXiv:2001.08361, section 2.1.
    """
    config = model.config
    head: Any = model.get_output_embeddings()
    embeddings = {id(model.get_input_embeddings().weight), id(head.weight)}
    flops: float = 0.0
    for weight in model.parameters():
        if id(weight) not in embeddings and weight.dim() > 1:
            flops += weight.numel() * (6 if weight.requires_grad else 4)
    flops += action_share * float(head.weight.numel() * (6 if head.weight.requires_grad else 4))
    return flops + 6.0 * length * int(config.num_hidden_layers) * _attention_width(config)


def activation_bytes(model: PreTrainedModel, tokens: int) -> int:
    """Returns an upper estimate of the bytes that a forward pass keeps for its backward pass.

    Per token and layer: ten vectors of the hidden size (residuals, norms, inputs of products), six of the
    width of all heads (query, key, value, before and after rotation, and the output) and four of the
    feed-forward width, each number in the type of the embedding; after the last layer the input states of the
    output head.
    """
    config = model.config
    embedding: Any = model.get_input_embeddings()
    # Some decoders (GPT-2, BLOOM) leave the width at its usual value, four times the hidden size
    feed_forward = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    layer = 10 * config.hidden_size + 6 * _attention_width(config) + 4 * feed_forward
    numbers = tokens * (config.num_hidden_layers * layer + 4 * config.hidden_size)
    return int(embedding.weight.element_size() * numbers)


def needs_checkpointing(model: PreTrainedModel, micro_batch_tokens: int, device: torch.device) -> bool:
    """Returns whether the activations of a micro-batch would exceed 60 % of the memory that is free now.

    Must be called before gradients and moments exist: it reserves memory for three copies of the trained
    weights.
    """
    cuda = device.type == "cuda"
    free = torch.cuda.mem_get_info(device)[0] if cuda else psutil.virtual_memory().available
    trained = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    return bool(activation_bytes(model, micro_batch_tokens) > FREE_SHARE * (free - 3 * trained))


def _attention_width(config: Any) -> int:
    """Returns the size of a token's queries, over all heads."""
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(config.num_attention_heads * head_dim)
