"""Jobs that train an adapter, one after the other, as a campaign's iterations do."""

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


def adopt(policy: Path, store: Path) -> Path:
    """Puts a policy where the service keeps it: under its hash, beside all others."""
    return Path(shutil.copytree(policy, store / sha256_of_file(policy / "manifest.json"), dirs_exist_ok=True))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="module")
def adapted(store: Path, workshop: Path, base: Path) -> Path:
    """An adapter beside the base, by supervised fine-tuning."""
    dataset = workshop / "experts.jsonl"
    job = JobFolder(store / "sft", method="sft", base=adopt(base, store), dataset=dataset, settings=LORA)
    assert job.run() == 0, job.status["failure"]
    return adopt(job.output, store)


def test_an_adapter_is_small_and_names_the_model_beneath_it(adapted: Path, store: Path, base: Path) -> None:
    manifest = json.loads((adapted / "manifest.json").read_bytes())
    assert manifest["model_hash"] == sha256_of_file(base / "manifest.json")
    assert manifest["base_hash"] == manifest["model_hash"]
    assert not (adapted / "model.safetensors").exists()


def test_the_next_job_trains_the_adapter_on_and_its_reference_is_the_one_before(
    adapted: Path, store: Path, workshop: Path
) -> None:
    dataset = workshop / "pairs.jsonl"
    settings = LORA | {"epochs": 1, "batch_size": 24, "log_every": 1}
    job = JobFolder(store / "target", method="target", base=adapted, dataset=dataset, settings=settings)
    assert job.run() == 0, job.status["failure"]
    first = next(event for event in job.events if event["event"] == "step")
    assert first["margin"] == 0  # of the first update: policy and reference are one
    trained = adopt(job.output, store)
    assert json.loads((trained / "manifest.json").read_bytes())["base_hash"] == adapted.name
    before, after = (
        trained_weights(load_policy(folder, ComputeSettings(), torch.device("cpu"), trainable=False))
        for folder in (adapted, trained)
    )
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_job_on_an_adapter_is_refused_when_the_model_beneath_was_changed(
    adapted: Path, base: Path, workshop: Path, tmp_path: Path
) -> None:
    alone, model = adopt(adapted, tmp_path), adopt(base, tmp_path)
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (model / "model.safetensors").write_bytes(weights)
    dataset = workshop / "experts.jsonl"
    job = JobFolder(tmp_path / "job", method="sft", base=alone, dataset=dataset, settings=LORA)
    assert job.run() == 2
    assert "base model of the adapter in base: " in job.status["failure"]["message"]
    shutil.rmtree(model)
    assert job.run() == 2
    assert f"model_hash of {alone}" in job.status["failure"]["message"]
