"""Estimates of operations and memory follow from weights and lengths."""

from pathlib import Path

import torch

from coevolve_trainer.models.cost import activation_bytes, flops_per_token, needs_checkpointing
from loaded_policy import load_model


def test_the_cost_of_a_pass_follows_from_weights_and_length(base: Path) -> None:
    model = load_model(base)
    embedding = model.get_input_embeddings().weight.numel()
    body = sum(p.numel() for p in model.parameters() if p.dim() > 1) - embedding
    attention = 6 * 2 * 4 * 32 * 100  # 6 * layers * heads * head_dim * length
    assert flops_per_token(model, 100, 0.5) == 6 * body + 3 * embedding + attention
    model.requires_grad_(False)
    assert flops_per_token(model, 0, 1.0) == 4 * (body + embedding)
    cpu = torch.device("cpu")
    assert activation_bytes(model, 2000) == 2 * activation_bytes(model, 1000)
    assert not needs_checkpointing(model, 1000, cpu)
    assert needs_checkpointing(model, 10**9, cpu)
