"""What the service expects of a job holds for both engines: resume, published files, typed failures."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.trl_engine.trainers import DemonstrationTrainer
from coevolve_trainer.updates.dataset_objectives import SftObjective
from file_damage import damage
from job_folder import JobFolder, exit_code, pair_rows, policy_bytes, wait_until, write_rows
from loaded_policy import load_model
from policy_server_process import complete
from ranks import run_forked

ENGINES = ("builtin", "trl")
LORA = {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1}


@pytest.fixture(params=("builtin", pytest.param("trl", marks=pytest.mark.of_all)))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create_job(folder: Path, engine: str, datasets: Path, base: Path, **settings: Any) -> JobFolder:
    """A job with a checkpoint after every second of its 24 updates."""
    method = settings.pop("method", "sft")
    dataset = datasets / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    defaults = {"epochs": 4, "batch_size": 8, "checkpoint_every": 2, "log_every": 1, "engine": engine}
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings=defaults | settings)


@pytest.mark.parametrize(
    ("settings", "beside_updates"),
    [({}, False), ({}, True), (LORA, False), ({"method": "target", "epochs": 8}, False)],
    ids=["sft", "sft, checkpoints beside updates", "lora", "target"],
)
def test_a_killed_job_resumes_and_ends_with_the_policy_of_an_uninterrupted_one(
    settings: dict[str, Any],
    beside_updates: bool,
    engine: str,
    tmp_path: Path,
    datasets: Path,
    base: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uninterrupted, killed = (
        create_job(tmp_path / name, engine, datasets, base, **settings)
        for name in ("uninterrupted", "killed")
    )
    assert uninterrupted.run() == 0
    if beside_updates:
        module = "updates.checkpoint_writer" if engine == "builtin" else "trl_engine.callback"
        monkeypatch.setattr(f"coevolve_trainer.{module}.BACKGROUND_BYTES", 0)
    for updates in (2, 6):
        child = killed.fork()
        wait_until(lambda least=updates: killed.newest_checkpoint >= least)  # type: ignore[misc]
        os.kill(child, signal.SIGKILL)
        assert exit_code(child) == -signal.SIGKILL
    assert killed.run() == 0
    assert len(killed.resumed_steps) == 2
    assert policy_bytes(killed.output) == policy_bytes(uninterrupted.output)
    assert killed.status["tokens"] == uninterrupted.status["tokens"]
    assert killed.losses[-1] == uninterrupted.losses[-1]


def test_a_stopped_job_resumes_from_the_checkpoint_before_a_damaged_one(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", engine, datasets, base, epochs=40)
    child = job.fork()
    wait_until(lambda: job.newest_checkpoint >= 4)
    os.kill(child, signal.SIGTERM)
    assert exit_code(child) == EXIT_CODES["cancelled"]
    earlier, newest = job.checkpoint_steps[-2:]
    assert job.failure == {"type": "cancelled", "message": f"stopped after update {newest} of 240"}
    file = max(
        (job.folder / f"checkpoints/step-{newest:06d}").iterdir(), key=lambda path: path.stat().st_size
    )
    assert damage(file, "one bit", 1)
    child = job.fork()
    wait_until(lambda: job.newest_checkpoint > newest)
    os.kill(child, signal.SIGKILL)
    exit_code(child)
    assert job.resumed_steps == [earlier]
    assert str(newest) in job.events_of("damaged")[0]["fault"]


def test_a_finished_job_succeeds_without_training(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", engine, datasets, base, epochs=1)
    assert [job.run(), job.run()] == [0, 0]
    assert len(job.events_of("started")) == 1
    assert job.status["policy_hash"] == verify_policy(job.output)


def test_the_policy_server_serves_a_policy_of_either_engine(
    engine: str, server: str, tmp_path: Path, datasets: Path, trained: Path
) -> None:
    job = create_job(tmp_path / "job", engine, datasets, trained, epochs=1)
    assert job.run() == 0
    policy_hash = sha256_of_file(job.output / "manifest.json")
    body = {"lora_name": policy_hash, "lora_path": str(job.output)}
    assert httpx.post(f"{server}/v1/load_lora_adapter", json=body).status_code == 200
    assert complete(server, policy_hash).json()["choices"][0]["message"]["content"]


def test_a_policy_has_the_same_files_and_its_manifest_names_the_engine(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    jobs = {engine: create_job(tmp_path / engine, engine, datasets, base, epochs=1) for engine in ENGINES}
    assert [job.run() for job in jobs.values()] == [0, 0]
    files = {engine: policy_bytes(job.output) for engine, job in jobs.items()}
    changed = {name for name, data in files["builtin"].items() if files["trl"][name] != data}
    assert files["trl"].keys() == files["builtin"].keys()
    assert changed == {"manifest.json", "model.safetensors"}
    manifest = read_manifest(jobs["trl"].output)
    assert manifest["settings"] == read_manifest(jobs["builtin"].output)["settings"] | {"engine": "trl"}  # type: ignore[operator]
    assert {"trl", "transformers", "accelerate", "torch"} <= manifest["engine_versions"].keys()  # type: ignore[attr-defined]
    assert jobs["trl"].status["engine"] == "trl"
    assert load_model(jobs["trl"].output).num_parameters() == manifest["parameters"]


def test_the_next_job_continues_an_adapter_with_either_engine(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    model = tmp_path / sha256_of_file(base / "manifest.json")
    model.symlink_to(base)
    first = create_job(tmp_path / "first", engine, datasets, model, epochs=1, **LORA)
    assert first.run() == 0, first.failure
    adapter = first.output.rename(tmp_path / sha256_of_file(first.output / "manifest.json"))
    second = create_job(tmp_path / "second", engine, datasets, adapter, method="dpo", epochs=1, **LORA)
    assert second.run() == 0, second.failure
    assert second.events_of("step")[0]["margin"] == pytest.approx(0, abs=1.0)  # dropout acts
    manifest = read_manifest(second.output)
    assert (manifest["model_hash"], manifest["base_hash"]) == (model.name, adapter.name)
    config = json.loads((second.output / "adapter_config.json").read_bytes())
    assert (config["r"], config["base_model_name_or_path"]) == (4, model.name)


FAILURES: dict[str, tuple[str, dict[str, Any]]] = {
    "no space for the checkpoints": ("disk-full", {"reserve_disk_bytes": 2**60}),
    "a loss that is not finite": ("diverged", {"learning_rate": 1e6, "warmup_fraction": 0.0}),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_has_its_type_and_exit_code(
    case: str, engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    kind, settings = FAILURES[case]
    job = create_job(tmp_path / "job", engine, datasets, base, **settings)
    assert job.run() == EXIT_CODES[kind]  # type: ignore[index]
    assert job.failure["type"] == kind
    assert not job.output.exists()


def test_a_wrong_row_is_bad_input(engine: str, tmp_path: Path, base: Path) -> None:
    dataset = write_rows(tmp_path / "pairs.jsonl", pair_rows(2))
    settings = {"engine": engine}
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset, settings=settings)
    assert job.run() == EXIT_CODES["bad-input"]
    assert "line 1" in job.failure["message"]


def test_a_failure_of_rank_one_is_the_failure_of_the_job(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    def fail_on_rank_one() -> None:
        owner: Any = SftObjective if engine == "builtin" else DemonstrationTrainer
        name = "loss" if engine == "builtin" else "compute_loss"
        loss = getattr(owner, name)

        def allocate_a_petabyte(*arguments: Any, **named: Any) -> Any:
            if os.environ["RANK"] == "1":
                torch.empty(2**50)
            return loss(*arguments, **named)

        setattr(owner, name, allocate_a_petabyte)

    job = create_job(tmp_path / "job", engine, datasets, base, sharding="ddp", processes=2)
    assert run_forked(job, fail_on_rank_one)[0] != 0
    assert (job.status["state"], job.failure["type"]) == ("failed", "out-of-memory")
