"""The reference's log-probabilities, computed once: any job over the same data may read the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ..data.dataset import Example
from ..data.packed_batch import Rows
from ..data.packing import Packing
from ..files.atomic_files import canonical_json, sha256_of_file, write_atomically
from ..job import Job
from ..losses.scorer import Scorer
from ..process_group import Ranks
from ..settings import DpoSettings


def reference_key(job: Job, settings: DpoSettings) -> str:
    """What the log-probabilities depend on, and nothing else of the job: sha256 in hex."""
    assert job.base is not None
    facts = {
        "dataset_sha256": job.dataset_sha256,
        "reference_hash": job.reference_hash,
        "tokenizer_sha256": sha256_of_file(job.base / "tokenizer.json"),
        "max_length": settings.max_length,
        "pair_truncation": settings.pair_truncation,
        "precision": settings.precision,
    }
    return hashlib.sha256(canonical_json(facts)).hexdigest()


def reference_logprobs(
    cache: Path,
    key: str,
    load_scorer: Callable[[], Scorer],
    examples: Sequence[Example],
    *,
    packing: Packing,
    max_tokens: int,
    ranks: Ranks,
) -> Tensor:
    """[N, 2] nats: log-probability of each pair's chosen and rejected under the frozen reference, else 0.

    Read from `cache` when it holds those of `key` whole; else computed, by all processes in parts of at most
    `max_tokens`, and written there. `load_scorer` is called in that case alone.
    """
    cached = ranks.first(lambda: _read(cache, key, len(examples)))
    if cached is not None:
        return cached
    computed = _compute(load_scorer(), examples, packing, max_tokens, ranks)
    ranks.first(lambda: write_atomically(cache, _bytes(key, computed)))
    return computed


def _compute(
    scorer: Scorer, examples: Sequence[Example], packing: Packing, max_tokens: int, ranks: Ranks
) -> Tensor:
    logprobs = torch.zeros(len(examples), 2)
    pairs = [i for i, example in enumerate(examples) if example.rejected]
    plan = packing.plan([[*examples[i].chosen, *examples[i].rejected] for i in pairs], max_tokens)
    parts = [[pairs[place] for place in places] for places in plan]

    def sums(part: list[int]) -> Tensor:
        sides = [examples[i].chosen for i in part] + [examples[i].rejected for i in part]
        rows = packing.rows(sides, max_tokens)
        return trajectory_logprobs(scorer, rows).cpu()

    for part, found in zip(parts, ranks.gather(parts, sums), strict=True):
        logprobs[part] = found.view(2, -1).T
    return logprobs


def trajectory_logprobs(scorer: Scorer, rows: Rows) -> Tensor:
    """Log-probability in nats per trajectory, [B], summed over its action tokens in all of its rows."""
    logp = scorer(rows).logp
    return torch.zeros(len(rows.counts), device=logp.device).index_add(0, rows.owner.to(logp.device), logp)


def _bytes(key: str, logprobs: Tensor) -> bytes:
    digest = hashlib.sha256(logprobs.contiguous().numpy().tobytes()).hexdigest()
    named = {"logprobs": logprobs.contiguous(), "key": _text(key), "sha256": _text(digest)}
    return save(named)


def _read(cache: Path, key: str, examples: int) -> Tensor | None:
    """None for no file, a damaged one, and one of another key."""
    try:
        found = load(cache.read_bytes())
        logprobs = found["logprobs"]
        digest = hashlib.sha256(logprobs.numpy().tobytes()).hexdigest()
        whole = torch.equal(found["sha256"], _text(digest)) and torch.equal(found["key"], _text(key))
    except (SafetensorError, OSError, KeyError):
        return None
    return logprobs if whole and logprobs.shape == (examples, 2) else None


def _text(text: str) -> Tensor:
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
