"""Log-probabilities under the frozen reference, computed once and cached in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ..data.dataset import Example
from ..data.packed_batch import PackedBatch
from ..data.packing import Packing
from ..files.atomic_files import canonical_json, sha256_of_file, write_atomically
from ..job import Job
from ..losses.scorer import Scorer
from ..process_group import ProcessGroup
from ..settings import DpoSettings


def reference_key(job: Job, settings: DpoSettings) -> str:
    """Returns the sha256, in hex, of all inputs on which the log-probabilities depend."""
    assert job.base is not None
    inputs = {
        "dataset_sha256": job.dataset_sha256,
        "reference_hash": job.reference_hash,
        "tokenizer_sha256": sha256_of_file(job.base / "tokenizer.json"),
        "max_length": job.max_length,
        "pair_truncation": settings.pair_truncation,
        "precision": settings.precision,
        "engine": settings.engine,
    }
    return hashlib.sha256(canonical_json(inputs)).hexdigest()


def reference_logprobs(
    cache: Path,
    key: str,
    load_reference: Callable[[], Scorer],
    examples: Sequence[Example],
    *,
    packing: Packing,
    max_tokens: int,
    process_group: ProcessGroup,
) -> Tensor:
    """Returns [N, 2] nats: the reference's log-probability of each pair's two sides; 0 for demonstrations.

    Reads them from `cache` if it is intact and has this key. Otherwise loads the reference, computes them on
    all processes in micro-batches of at most `max_tokens`, and writes the cache.
    """
    return cached_logprobs(
        cache,
        key,
        len(examples),
        lambda: _compute(load_reference(), examples, packing, max_tokens, process_group),
        process_group,
    )


def cached_logprobs(
    cache: Path, key: str, count: int, compute: Callable[[], Tensor], process_group: ProcessGroup
) -> Tensor:
    """Returns the [count, 2] of `cache` if it is intact and has this key; else computes and stores them."""
    cached = process_group.on_rank_zero(lambda: _read_cache(cache, key, count))
    if cached is not None:
        return cached
    computed = compute()
    process_group.on_rank_zero(lambda: write_atomically(cache, _cache_bytes(key, computed)))
    return computed


def plan_pairs(examples: Sequence[Example], packing: Packing, max_tokens: int) -> list[list[int]]:
    """Returns the indices of the pairs in each micro-batch of at most `max_tokens`."""
    pairs = [i for i, example in enumerate(examples) if example.rejected]
    plan = packing.plan([[*examples[i].chosen, *examples[i].rejected] for i in pairs], max_tokens)
    return [[pairs[index] for index in indices] for indices in plan]


def _compute(
    scorer: Scorer,
    examples: Sequence[Example],
    packing: Packing,
    max_tokens: int,
    process_group: ProcessGroup,
) -> Tensor:
    logprobs = torch.zeros(len(examples), 2)
    micro_batches = plan_pairs(examples, packing, max_tokens)

    def logprobs_of(micro_batch: list[int]) -> Tensor:
        sides = [examples[i].chosen for i in micro_batch] + [examples[i].rejected for i in micro_batch]
        return _trajectory_logprobs(scorer, packing.pack(sides, max_tokens)).cpu()

    results = process_group.parallel_map(micro_batches, logprobs_of)
    for micro_batch, result in zip(micro_batches, results, strict=True):
        logprobs[micro_batch] = result.view(2, -1).T
    return logprobs


def _trajectory_logprobs(scorer: Scorer, packed: PackedBatch) -> Tensor:
    """Returns [B] nats per trajectory, summed over the action tokens of all of its segments."""
    logp = scorer(packed).logp
    sums = torch.zeros(len(packed.action_counts), device=logp.device)
    return sums.index_add(0, packed.trajectory_index.to(logp.device), logp)


def _cache_bytes(key: str, logprobs: Tensor) -> bytes:
    digest = hashlib.sha256(logprobs.contiguous().numpy().tobytes()).hexdigest()
    named = {"logprobs": logprobs.contiguous(), "key": _as_tensor(key), "sha256": _as_tensor(digest)}
    return save(named)


def _read_cache(cache: Path, key: str, examples: int) -> Tensor | None:
    """Returns None when the file is missing, damaged, or has another key."""
    try:
        found = load(cache.read_bytes())
        logprobs = found["logprobs"]
        digest = hashlib.sha256(logprobs.numpy().tobytes()).hexdigest()
        valid = torch.equal(found["sha256"], _as_tensor(digest)) and torch.equal(
            found["key"], _as_tensor(key)
        )
    except (SafetensorError, OSError, KeyError):
        return None
    return logprobs if valid and logprobs.shape == (examples, 2) else None


def _as_tensor(text: str) -> Tensor:
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
