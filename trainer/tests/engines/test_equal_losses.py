"""Both engines compute the same losses and policies from the same rows, to 1e-4."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.trl_engine import arguments
from job_folder import JobFolder, expert_rows, pair_rows, write_rows
from random_policies import ARCHITECTURES, SIZES, random_policy
from ranks import run_forked

Rows = list[dict[str, Any]]
LORA = {"adapter": "lora", "lora_rank": 4}
TOLERANCE = 1e-4


def weighted() -> Rows:
    return [{**row, "weight": (0.25, 1.0, 2.0)[i % 3]} for i, row in enumerate(expert_rows(14))]


def lightly_weighted() -> Rows:
    return [{**row, "weight": row["weight"] / 1000} for row in weighted()]


def rewarded() -> Rows:
    return [{**row, "reward": i % 2} for i, row in enumerate(expert_rows(20))]


def lambdas() -> Rows:
    """Pairs of different weights, and demonstrations among them."""
    weights = [(0.5, 0.5), (1.0, 0.0), (0.2, 1.5)]
    pairs = pair_rows(10)
    for i, row in enumerate(pairs):
        row["lambda_dpo"], row["lambda_sft"] = weights[i % 3]
    return [*pairs, *expert_rows(4)]


def of_several_rows() -> Rows:
    """Pairs whose sides have two rows each: the second prompt does not extend the first."""
    turns = [
        {"prompt_token_ids": [1, 5, 6], "token_ids": [7, 8, 2]},
        {"prompt_token_ids": [1, 9, 6, 9, 4], "token_ids": [11, 2]},
    ]
    other = [{**turns[0], "token_ids": [3, 2]}, {**turns[1], "token_ids": [8, 8, 2]}]
    sides = {"chosen": {"turns": turns}, "rejected": {"turns": other}}
    return [*pair_rows(6), {"pair_id": "segments", "lambda_dpo": 1, "lambda_sft": 0, **sides}]


CASES: dict[str, tuple[str, Callable[[], Rows], dict[str, Any]]] = {
    "sft": ("sft", lambda: expert_rows(14), {}),
    "sft with weights": ("sft", weighted, {}),
    "rft": ("rft", rewarded, {}),
    "dpo": ("dpo", lambda: pair_rows(10), {"beta": 0.3}),
    "dpo of several rows": ("dpo", of_several_rows, {}),
    "target": ("target", lambdas, {}),
    "target with sums": ("target", lambdas, {"sft_reduction": "sum", "learning_rate": 1e-4}),
    "sft of an adapter": ("sft", lambda: expert_rows(14), LORA),
    "dpo of an adapter": ("dpo", lambda: pair_rows(10), LORA),
    "target of an adapter": ("target", lambdas, LORA),
}


def create_job(folder: Path, method: str, dataset: Path, base: Path, **settings: Any) -> JobFolder:
    """Two epochs of batches that are split into micro-batches of unequal sizes."""
    defaults = {
        "epochs": 2,
        "batch_size": 5,
        "learning_rate": 1e-3,
        "micro_batch_tokens": 350,
        "log_every": 1,
    }
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings=defaults | settings)


def assert_same_training(found: JobFolder, expected: JobFolder) -> None:
    assert len(found.losses) > 3
    assert found.losses == pytest.approx(expected.losses, abs=TOLERANCE)
    steps = zip(found.events_of("step"), expected.events_of("step"), strict=True)
    for ours, theirs in steps:
        assert ours.keys() == theirs.keys()
        for name in ("grad_norm", "learning_rate", "tokens", "epoch"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-3), name
    weights, others = (load_file(next(job.output.glob("*model.safetensors"))) for job in (found, expected))
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(weight, others[name], atol=TOLERANCE, rtol=0, msg=name)


@pytest.mark.parametrize("case", CASES)
def test_both_engines_train_the_same_policy(case: str, base: Path, tmp_path: Path) -> None:
    method, rows, settings = CASES[case]
    dataset = write_rows(tmp_path / "rows.jsonl", rows())
    jobs = [
        create_job(tmp_path / engine, method, dataset, base, engine=engine, **settings)
        for engine in ("trl", "builtin")
    ]
    assert [job.run() for job in jobs] == [0, 0], jobs[0].failure
    assert_same_training(*jobs)


@pytest.mark.parametrize("engine", ["builtin", "trl"])
def test_the_weights_of_demonstrations_are_relative(engine: str, base: Path, tmp_path: Path) -> None:
    jobs = [
        create_job(tmp_path / name, "sft", write_rows(tmp_path / f"{name}.jsonl", rows), base, engine=engine)
        for name, rows in {"light": lightly_weighted(), "heavy": weighted()}.items()
    ]
    assert [job.run() for job in jobs] == [0, 0], jobs[0].failure
    assert_same_training(*jobs)


def test_a_mixture_of_experts_has_no_loss_of_its_router_in_either_engine(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    monkeypatch.setitem(ARCHITECTURES, "qwen3_moe", {**SIZES, **experts, "model_type": "qwen3_moe"})
    policy, _ = random_policy(tmp_path, "qwen3_moe", tokenizer_of=base)
    dataset = write_rows(tmp_path / "rows.jsonl", expert_rows(14))
    jobs = [create_job(tmp_path / name, "sft", dataset, policy, engine=name) for name in ("trl", "builtin")]
    assert [job.run() for job in jobs] == [0, 0], jobs[0].failure
    assert_same_training(*jobs)


def test_the_reference_may_be_another_policy_than_the_base(base: Path, trained: Path, tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", pair_rows(10))
    reference = {"reference": str(base), "reference_hash": sha256_of_file(base / "manifest.json")}
    jobs = [create_job(tmp_path / name, "dpo", dataset, trained, engine=name) for name in ("trl", "builtin")]
    for job in jobs:
        job.change(**reference)
    assert [job.run() for job in jobs] == [0, 0], jobs[0].failure
    assert jobs[0].events_of("step")[0]["margin"] == pytest.approx(
        jobs[1].events_of("step")[0]["margin"], abs=1e-4
    )
    assert_same_training(*jobs)


def test_rows_without_padding_give_the_same_losses(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a micro-batch become one, as for flash attention; on a CPU a mask separates them."""
    dataset = write_rows(tmp_path / "rows.jsonl", expert_rows(14))
    padded, packed = (
        create_job(tmp_path / name, "sft", dataset, base, engine="trl") for name in ("padded", "packed")
    )
    assert padded.run() == 0
    monkeypatch.setattr(arguments, "uses_flash_attention", lambda *_: True)
    assert packed.run() == 0, packed.failure
    assert_same_training(packed, padded)


@pytest.mark.of_all
@pytest.mark.parametrize("case", ["sft", "dpo", "target"])
def test_two_processes_train_the_policy_of_one(case: str, base: Path, tmp_path: Path) -> None:
    method, rows, settings = CASES[case]
    dataset = write_rows(tmp_path / "rows.jsonl", rows())
    alone = create_job(tmp_path / "alone", method, dataset, base, engine="trl", **settings)
    assert alone.run() == 0
    ranks = {"sharding": "ddp", "processes": 2}
    together = create_job(tmp_path / "together", method, dataset, base, engine="trl", **settings, **ranks)
    assert run_forked(together) == [0, 0], together.failure
    assert together.status["processes"] == 2
    assert_same_training(together, alone)
