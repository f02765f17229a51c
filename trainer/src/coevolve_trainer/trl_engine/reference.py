"""Log-probabilities under the frozen reference, by DPOTrainer, computed once before the first update."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..process_group import ProcessGroup
from ..settings import DpoSettings
from .micro_batches import Plan, split_evenly
from .rows import row_owners


def compute_reference_logprobs(
    trainer: Any, plan: Plan, settings: DpoSettings, process_group: ProcessGroup
) -> Tensor:
    """Returns [N, 2] nats for the two sides of each pair; 0 for demonstrations. Collective."""
    examples, device = plan.examples, trainer.args.device
    pairs = [i for i, example in enumerate(examples) if example.rejected]
    micro_batches = split_evenly(examples, pairs, settings)

    def logprobs_of(indices: tuple[int, ...]) -> Tensor:
        inputs = {name: tensor.to(device) for name, tensor in trainer.batches.build.rows(indices).items()}
        by_row = torch.cat(trainer.compute_ref_log_probs(trainer.ref_model, inputs)).float().cpu()
        owners = row_owners([examples[i] for i in indices])
        return torch.zeros(2 * len(indices)).index_add(0, owners, by_row)

    logprobs = torch.zeros(len(examples), 2)
    results = process_group.parallel_map(micro_batches, logprobs_of)
    for indices, result in zip(micro_batches, results, strict=True):
        logprobs[list(indices)] = result.view(2, -1).T
    return logprobs
