"""The reference's log-probabilities: computed once per job, then read from its directory."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..data.batches import pad_rows, row_length
from ..data.dataset import Example
from ..files.durable import write_atomically
from ..losses.logprobs import trajectory_logprobs
from ..models.decoder import load_model

BATCH_PAIRS = 16


def reference_logprobs(
    cache: Path, job: str, reference: Path, examples: list[Example], pad_id: int
) -> Tensor:
    """[N, 2] nats: log-probability of each pair's chosen and rejected under the frozen reference, else 0.

    `job` is the job's identity; a cache of another job, or a damaged one, is computed anew.
    """
    cached = _read(cache, job)
    if cached is not None:
        return cached
    computed = _compute(reference, examples, pad_id)
    write_atomically(cache, save({"logprobs": computed}, metadata={"job": job}))
    return computed


@torch.no_grad()
def _compute(reference: Path, examples: list[Example], pad_id: int) -> Tensor:
    model = load_model(reference)
    logprobs = torch.zeros(len(examples), 2)
    pairs = [i for i, example in enumerate(examples) if example.rejected]
    order = sorted(pairs, key=lambda i: row_length(examples[i]))
    for start in range(0, len(order), BATCH_PAIRS):
        batch = order[start : start + BATCH_PAIRS]
        sides = [examples[i].chosen for i in batch] + [examples[i].rejected for i in batch]
        logprobs[batch] = trajectory_logprobs(model, pad_rows(sides, pad_id)).view(2, -1).T
    return logprobs


def _read(cache: Path, job: str) -> Tensor | None:
    if not cache.exists():
        return None
    try:
        with safe_open(cache, framework="pt") as file:
            found = file.get_tensor("logprobs") if (file.metadata() or {}).get("job") == job else None
            return found if isinstance(found, Tensor) else None
    except (SafetensorError, OSError):
        return None
