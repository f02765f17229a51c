"""Consecutive jobs that train one adapter, as in the iterations of a campaign."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.models.policy import load_policy, trained_weights
from coevolve_trainer.settings import ComputeSettings
from job_folder import JobFolder

LORA = {"adapter": "lora", "lora_rank": 4, "learning_rate": 3e-3, "epochs": 2}


def copy_to_store(policy: Path, store: Path) -> Path:
    """Copies a policy under its hash into the folder of all policies, as the service does."""
    return Path(shutil.copytree(policy, store / sha256_of_file(policy / "manifest.json"), dirs_exist_ok=True))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="module")
def adapter(store: Path, datasets: Path, base: Path) -> Path:
    """An adapter of the base after supervised fine-tuning."""
    dataset, model = datasets / "experts.jsonl", copy_to_store(base, store)
    job = JobFolder(store / "sft", method="sft", base=model, dataset=dataset, settings=LORA)
    assert job.run() == 0, job.failure
    return copy_to_store(job.output, store)


def test_an_adapter_contains_no_model_weights_and_its_manifest_names_the_base_model(
    adapter: Path, store: Path, base: Path
) -> None:
    manifest = json.loads((adapter / "manifest.json").read_bytes())
    assert manifest["model_hash"] == sha256_of_file(base / "manifest.json")
    assert manifest["base_hash"] == manifest["model_hash"]
    assert not (adapter / "model.safetensors").exists()


def test_the_next_job_continues_the_adapter_with_the_previous_one_as_reference(
    adapter: Path, store: Path, datasets: Path
) -> None:
    dataset = datasets / "pairs.jsonl"
    settings = LORA | {"epochs": 1, "batch_size": 24, "log_every": 1}
    job = JobFolder(store / "target", method="target", base=adapter, dataset=dataset, settings=settings)
    assert job.run() == 0, job.failure
    assert job.events_of("step")[0]["margin"] == 0  # in the first update policy and reference are equal
    trained = copy_to_store(job.output, store)
    assert json.loads((trained / "manifest.json").read_bytes())["base_hash"] == adapter.name
    before, after = (
        trained_weights(load_policy(folder, ComputeSettings(), torch.device("cpu"), trainable=False))
        for folder in (adapter, trained)
    )
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_job_on_an_adapter_is_rejected_when_the_base_model_is_changed_or_missing(
    adapter: Path, base: Path, datasets: Path, tmp_path: Path
) -> None:
    copy, model = copy_to_store(adapter, tmp_path), copy_to_store(base, tmp_path)
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (model / "model.safetensors").write_bytes(weights)
    dataset = datasets / "experts.jsonl"
    job = JobFolder(tmp_path / "job", method="sft", base=copy, dataset=dataset, settings=LORA)
    assert job.run() == 2
    assert "base model of the adapter in base: " in job.failure["message"]
    shutil.rmtree(model)
    assert job.run() == 2
    assert f"model_hash of {copy}" in job.failure["message"]
