"""Whole jobs: their results, and the messages with which they reject wrong inputs."""

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from coevolve_trainer.failures import EXIT_CODES, as_job_failure
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.run import run_job
from job_folder import JobFolder, expert_rows, pair_rows, policy_bytes, write_rows
from small_disk import run_on_small_disk


def sft_job(folder: Path, datasets: Path, base: Path, **change: Any) -> JobFolder:
    fields: dict[str, Any] = {"method": "sft", "base": base, "dataset": datasets / "experts.jsonl"}
    return JobFolder(folder, **{**fields, "settings": {"epochs": 1}, **change})


@pytest.mark.parametrize("policy", ["base", "trained"])
def test_transformers_loads_a_policy_without_the_trainer(policy: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(policy)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert type(model).__name__ == "Qwen3ForCausalLM"
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert tokenizer.eos_token_id == model.generation_config.eos_token_id
    assert sum(p.numel() for p in model.parameters()) == read_manifest(folder)["parameters"]


def test_the_same_job_gives_the_same_bytes(tmp_path: Path, datasets: Path, base: Path) -> None:
    jobs = [sft_job(tmp_path / name, datasets, base) for name in ("one", "two")]
    assert [job.run() for job in jobs] == [0, 0]
    assert policy_bytes(jobs[0].output) == policy_bytes(jobs[1].output)
    assert jobs[0].status["policy_hash"] == sha256_of_file(jobs[0].output / "manifest.json")


def test_progress_and_status_report_the_training(trained: Path) -> None:
    folder = trained.parent
    status = json.loads((folder / "status.json").read_text())
    events = [json.loads(line) for line in (folder / "progress.jsonl").read_text().splitlines()]
    first, *_, last = [event for event in events if event["event"] == "step"]
    times = [datetime.fromisoformat(event["time"]) for event in events]
    assert times == sorted(times)
    assert timedelta() < times[-1] - times[0] < timedelta(minutes=10)
    assert status["state"] == "succeeded"
    assert status["step"] == status["total_steps"] == last["step"] == 36
    assert status["segments"] == 48
    assert status["truncated"] == 0
    assert last["epoch"] == 6
    assert last["loss"] < first["loss"] / 2
    numbers = {"learning_rate", "grad_norm", "tokens", "tokens_per_s", "memory_bytes", "eta_s", "loss"}
    assert numbers <= last.keys()
    assert {name: status[name] for name in numbers} == {name: last[name] for name in numbers}
    assert last["eta_s"] == 0 < last["memory_bytes"]
    resolved = {
        "device": "cpu",
        "precision": "float32",
        "sharding": "none",
        "processes": 1,
        "micro_batch_tokens": 8192,
        "gradient_checkpointing": "off",
    }
    assert {name: status[name] for name in resolved} == resolved
    assert status["parameters"] == status["trainable_parameters"]


@pytest.mark.parametrize("method", ["dpo", "target"])
def test_training_on_pairs_raises_the_margin_from_zero(
    method: str, tmp_path: Path, datasets: Path, trained: Path
) -> None:
    settings = {"epochs": 2, "log_every": 1, "learning_rate": 1e-3}
    job = JobFolder(
        tmp_path / method, method=method, base=trained, dataset=datasets / "pairs.jsonl", settings=settings
    )
    assert job.run() == 0
    steps = job.events_of("step")
    assert steps[0]["margin"] == pytest.approx(0, abs=1e-4)
    if method == "dpo":
        assert steps[0]["loss"] == pytest.approx(0.6931, abs=1e-4)
    assert steps[-1]["margin"] > 0
    assert {"accuracy", "chosen_logp", "rejected_logp"} <= steps[-1].keys()


def test_a_demonstration_contributes_only_the_second_term_of_eq_9(
    tmp_path: Path, datasets: Path, base: Path, trained: Path
) -> None:
    pairs, experts = pair_rows(4), expert_rows(4)
    # A pair whose first term has weight 0 equals the demonstration of its chosen side
    unweighted = [{**pairs[i], "chosen": experts[i], "lambda_dpo": 0.0, "lambda_sft": 1.0} for i in range(4)]
    policies = []
    for name, rows in (("pairs", pairs + unweighted), ("demonstrations", pairs + experts)):
        dataset = write_rows(tmp_path / f"{name}.jsonl", rows)
        job = JobFolder(
            tmp_path / name,
            method="target",
            base=trained,
            dataset=dataset,
            settings={"epochs": 1, "batch_size": 8},
        )
        assert job.run() == 0
        policies.append(load_file(job.output / "model.safetensors"))
    for key, weight in policies[0].items():
        torch.testing.assert_close(weight, policies[1][key], atol=1e-5, rtol=1e-4)


def test_token_ids_of_the_policy_server_are_trained_on_without_tokenization(
    tmp_path: Path, base: Path
) -> None:
    turns = [
        {"prompt_token_ids": [1, 5, 6], "token_ids": [7, 8, 2]},
        {"prompt_token_ids": [1, 5, 6, 9], "token_ids": [2]},
    ]
    dataset = write_rows(tmp_path / "turns.jsonl", [{"trajectory_id": "sampled", "turns": turns}])
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset, settings={"epochs": 1})
    assert job.run() == 0
    assert job.status["segments"] == 2


def test_a_finished_job_that_is_started_again_succeeds_without_training(trained: Path) -> None:
    before = policy_bytes(trained)
    assert run_job(trained.parent, Event()) == 0
    status = json.loads((trained.parent / "status.json").read_text())
    assert status["policy_hash"] == verify_policy(trained)
    assert policy_bytes(trained) == before


REJECTED: list[tuple[dict[str, Any], str]] = [
    ({"settings": {"epoch": 3}}, r"settings.epoch: found an unknown setting, expected one of .*epochs"),
    ({"settings": {"epochs": "3"}}, r"settings.epochs: found '3', expected an integer"),
    ({"settings": {"epochs": True}}, r"settings.epochs: found True, expected an integer"),
    ({"settings": {"batch_size": 0}}, r"settings.batch_size: found 0, expected 1 to 4096"),
    ({"settings": {"learning_rate": "high"}}, r"settings.learning_rate: found 'high', expected a number"),
    (
        {"settings": {"schedule": "linear"}},
        r"settings.schedule: found 'linear', expected one of cosine, const",
    ),
    ({"settings": []}, r"settings: found list, expected an object"),
    ({"method": "rl"}, r"method: found 'rl', expected one of init, sft, rft, dpo, target, grpo, ppo"),
    ({"seed": -1}, r"seed: found -1, expected an integer from 0"),
    ({"output": "policy"}, r"output: found 'policy', expected an absolute path"),
    ({"speed": 9}, r"speed: found an unknown field, expected one of job_key"),
    ({"base_hash": "f" * 64}, r"base_hash: found [0-9a-f]{64}, expected f{64}"),
    ({"dataset_sha256": "0" * 64}, r"dataset_sha256: found [0-9a-f]{64}, expected 0{64}"),
    ({"dataset": "/missing/rows.jsonl"}, r"dataset: found no file /missing/rows.jsonl"),
    ({"base": None, "base_hash": None}, r"base: found nothing, expected the policy to start from"),
    ({"base": "/missing"}, r"base: found no manifest.json in /missing, expected a policy directory"),
    (
        {"reference": "/r", "reference_hash": "0"},
        r"reference: found /r, expected nothing: sft has no reference",
    ),
]


@pytest.mark.parametrize(("change", "message"), REJECTED)
def test_a_wrong_job_is_rejected_with_the_field(
    change: dict[str, Any], message: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = sft_job(tmp_path / "job", datasets, base)
    job.change(**change)
    assert job.run() == EXIT_CODES["bad-input"]
    assert job.failure["type"] == "bad-input"
    assert re.search(message, job.failure["message"])
    assert not job.output.exists()


REJECTED_ROWS: list[tuple[str, dict[str, Any] | str, str]] = [
    ("sft", "{", "dataset line 1: found invalid JSON"),
    ("sft", {"trajectory_id": "x"}, "dataset line 1: found an object with trajectory_id"),
    ("sft", {"messages": [{"role": "user"}]}, r"dataset line 1.messages\[0\].content"),
    ("sft", {"messages": [{"role": "user", "content": "hi"}]}, "no action token"),
    ("sft", {"turns": [{"prompt_token_ids": [1], "token_ids": [10**6]}]}, r"token_ids: found a list of 1"),
    ("sft", {**expert_rows(1)[0], "weight": -1}, "dataset line 1.weight: found -1, expected a number >= 0"),
    ("target", {**pair_rows(1)[0], "lambda_sft": None}, "dataset line 1.lambda_sft: found None"),
    ("target", {**pair_rows(1)[0], "chosen": None}, "dataset line 1.chosen: found None"),
    ("sft", pair_rows(1)[0], "dataset line 1: found an object with .*chosen.*, expected a trajectory"),
    ("dpo", expert_rows(1)[0], "dataset line 1: found an object with .*, expected a pair"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "row", "message"), REJECTED_ROWS)
def test_a_wrong_dataset_is_rejected_with_line_and_field(
    method: str, row: dict[str, Any] | str, message: str, tmp_path: Path, base: Path
) -> None:
    dataset = tmp_path / "rows.jsonl"
    dataset.write_text(row if isinstance(row, str) else json.dumps(row))
    job = JobFolder(tmp_path / "job", method=method, base=base, dataset=dataset)
    assert job.run() == EXIT_CODES["bad-input"]
    assert re.search(message, job.failure["message"])


def test_a_changed_policy_file_is_rejected_with_its_path(tmp_path: Path, datasets: Path, base: Path) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "copy"))
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    job = sft_job(tmp_path / "job", datasets, copy)
    assert job.run() == EXIT_CODES["bad-input"]
    assert "model.safetensors: sha256: found" in job.failure["message"]


def test_the_output_of_another_job_is_rejected(tmp_path: Path, datasets: Path, base: Path) -> None:
    first = sft_job(tmp_path / "first", datasets, base)
    assert first.run() == 0
    second = sft_job(tmp_path / "second", datasets, base, seed=8, output=str(first.output))
    assert second.run() == EXIT_CODES["bad-input"]
    assert "output: seed of the policy in" in second.failure["message"]


def test_a_loss_that_is_not_finite_fails_as_diverged(tmp_path: Path, base: Path) -> None:
    rows = [{**row, "weight": 1e39} for row in expert_rows(8)]  # exceeds float32
    dataset = write_rows(tmp_path / "rows.jsonl", rows)
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset)
    assert job.run() == EXIT_CODES["diverged"]
    assert job.failure.keys() == {"type", "message"}
    assert job.failure["type"] == "diverged"
    assert "update 1: loss nan" in job.failure["message"]
    assert not job.output.exists()


def test_a_lack_of_disk_space_is_reported_before_the_training(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = sft_job(tmp_path / "job", datasets, base, settings={"reserve_disk_bytes": 2**62})
    assert job.run() == EXIT_CODES["disk-full"]
    assert "bytes are free, the job needs" in job.failure["message"]
    assert job.status["step"] == 0


def test_a_job_whose_disk_fills_up_fails_as_disk_full_and_resumes(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = sft_job(tmp_path / "job", datasets, base, settings={"checkpoint_every": 1, "epochs": 3})
    mount = 'mount -t tmpfs -o size=400k tmpfs "$1/checkpoints"'
    (job.folder / "checkpoints").mkdir()
    child = run_on_small_disk(mount, 'exec "$2" -m coevolve_trainer run "$1"', job.folder)
    assert child.returncode == EXIT_CODES["disk-full"], child.stderr
    assert job.failure["type"] == "disk-full"
    assert job.run() == 0  # on the real disk


def test_a_failed_allocation_is_classified_as_out_of_memory() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**50)
    assert as_job_failure(raised.value).type == "out-of-memory"
