"""Model FLOPs utilization (MFU): the training's operations relative to the device's peak."""

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
"""Dense products, from the vendor's data sheets."""


def utilization(row: dict[str, Any], against: str, *, policy: Path, pairs: Path) -> dict[str, float | None]:
    """Returns the MFU of both trainings' updates and, for pairs, of their passes of the reference.

    None if the device's peak is not listed. All tokens of the rows count, including those that a shared
    prefix saves.
    """
    names = {"ours_mfu": "ours_tokens_s", f"{against}_mfu": f"{against}_tokens_s"}
    peak = next((peaks for name, peaks in PEAK_TFLOPS.items() if name in row["device"]), None)
    if peak is None:
        return dict.fromkeys(names)
    rows = [r for example in read_examples(pairs) for r in example]
    length = sum(len(r.input_ids) for r in rows) // len(rows)
    action_share = sum(sum(r.action_mask) for r in rows) / sum(len(r.input_ids) for r in rows)
    compute = ComputeSettings(adapter=row["adapter"], precision=row["precision"])
    model = load_policy(policy, compute, torch.device("cpu"), trainable=True)
    flops = flops_per_token(model, length, action_share)
    if row["method"] == "dpo":  # a forward pass, half of a frozen model's operations, once per training
        model.requires_grad_(False)
        flops += flops_per_token(model, length, action_share) / 2 / row["epochs"]
    share = flops / (peak[row["precision"]] * 1e12)
    return {name: float(f"{share * row[rate]:.4g}") for name, rate in names.items()}
