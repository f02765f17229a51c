"""Jobs computed by transformers' own modules, as on a GPU, give the results of the kernels for CPUs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder, pair_rows, rl_job, write_rows
from random_policies import ARCHITECTURES, SIZES, random_policy
from sampled_rollouts import Rows

LORA = {"adapter": "lora", "lora_rank": 4}
COMMON = {"log_every": 1, "batch_size": 12, "micro_batch_tokens": 300}


def weights_of(job: JobFolder) -> dict[str, torch.Tensor]:
    files = [job.output / name for name in ("adapter_model.safetensors", "model.safetensors")]
    return load_file(next(file for file in files if file.exists()))


def assert_equal_jobs(found: JobFolder, expected: JobFolder) -> None:
    for job in (found, expected):
        assert job.run() == 0, job.failure
    assert [job.status["kernels"] for job in (found, expected)] == ["transformers", "cpu"]
    assert found.losses == pytest.approx(expected.losses, abs=1e-5)
    weights = weights_of(found)
    for name, expected_weight in weights_of(expected).items():
        torch.testing.assert_close(weights[name], expected_weight, atol=2e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("adapter", [{}, LORA], ids=["whole weights", "LoRA"])
@pytest.mark.parametrize("method", ["sft", "target"])
def test_a_job_on_a_dataset_has_equal_losses_and_weights(
    method: str, adapter: dict[str, Any], tmp_path: Path, datasets: Path, trained: Path
) -> None:
    dataset = datasets / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    settings = {**COMMON, **adapter, "epochs": 1, "learning_rate": 1e-4}

    def job(kernels: str) -> JobFolder:
        folder, chosen = tmp_path / kernels, settings | {"kernels": kernels}
        return JobFolder(folder, method=method, base=trained, dataset=dataset, settings=chosen)

    assert_equal_jobs(job("transformers"), job("auto"))


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_reinforcement_learning_has_equal_losses_and_weights(
    method: str, tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    def job(kernels: str) -> JobFolder:
        # At 1e-6, as AdamW's first step has the sign of gradients that are 0 up to rounding
        settings = {"kernels": kernels, "learning_rate": 1e-6}
        job = rl_job(tmp_path / kernels, trained, method=method, steps=2, settings=settings)
        for step in (1, 2):
            job.submit(step, batches[step])
        return job

    assert_equal_jobs(job("transformers"), job("auto"))


@pytest.mark.parametrize("adapter", [{}, LORA], ids=["whole weights", "LoRA"])
@pytest.mark.parametrize("family", ["gpt_neox", "gemma2"])
def test_a_decoder_that_the_kernels_do_not_know_is_trained(
    family: str,
    adapter: dict[str, Any],
    tmp_path: Path,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ARCHITECTURES, family, {**SIZES, "model_type": family, "head_dim": 16})
    base, _ = random_policy(tmp_path, family, tokenizer_of=trained)
    pairs = write_rows(tmp_path / "pairs.jsonl", pair_rows(12))
    settings = {**COMMON, **adapter, "epochs": 8, "learning_rate": 3e-3}
    job = JobFolder(tmp_path / "job", method="target", base=base, dataset=pairs, settings=settings)
    assert job.run() == 0, job.failure
    assert job.status["kernels"] == "transformers"
    assert job.losses[-1] < job.losses[0] / 1.2
    refused = JobFolder(
        tmp_path / "cpu", method="target", base=base, dataset=pairs, settings={"kernels": "cpu"}
    )
    assert refused.run() == EXIT_CODES["bad-input"]
    assert refused.failure["message"].startswith(f"settings.kernels: found cpu with model_type {family}")
