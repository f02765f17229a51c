"""Model FLOPs utilisation: what the training's arithmetic comes to, of what the device can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from coevolve_trainer.models.cost import flops_per_token
from coevolve_trainer.models.policy import load_policy
from coevolve_trainer.settings import ComputeSettings

from .rows import read_examples

PEAK_TFLOPS = {
    "H100": {"bfloat16": 989.0, "float32": 67.0},
    "H200": {"bfloat16": 989.0, "float32": 67.0},
    "A100": {"bfloat16": 312.0, "float32": 19.5},
}
"""Dense products, as the vendor's data sheets print them."""


def utilisation(row: dict[str, Any], policy: Path, examples: Path) -> float | None:
    """Share of the device's peak in our training's updates and, for pairs, its one pass of the reference.

    None for a device whose peak is not listed. Tokens are those of the rows as given: what sharing a prefix
    saves counts as done.
    """
    peak = next((peaks for name, peaks in PEAK_TFLOPS.items() if name in row["device"]), None)
    if peak is None:
        return None
    rows = [r for example in read_examples(examples) for r in example]
    length = sum(len(r.input_ids) for r in rows) // len(rows)
    acting = sum(sum(r.action_mask) for r in rows) / sum(len(r.input_ids) for r in rows)
    compute = ComputeSettings(adapter=row["adapter"], precision=row["precision"])
    model = load_policy(policy, compute, torch.device("cpu"), trainable=True)
    flops = flops_per_token(model, length, acting)
    if row["method"] == "dpo":  # two of at least four operations per weight, once in the whole training
        model.requires_grad_(False)
        flops += flops_per_token(model, length, acting) / 2 / row["epochs"]
    return float(round(flops * row["ours_tokens_s"] / (peak[row["precision"]] * 1e12), 4))
