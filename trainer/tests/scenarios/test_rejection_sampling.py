"""The method rft trains on expert trajectories and on successful attempts only."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder, expert_rows, write_rows

SETTINGS = {"epochs": 1, "batch_size": 4}


def rft_job(folder: Path, base: Path, rewards: list[float | None], **settings: float) -> JobFolder:
    rows = [{**row, "reward": reward} for row, reward in zip(expert_rows(len(rewards)), rewards, strict=True)]
    dataset = write_rows(folder.with_suffix(".jsonl"), rows)
    return JobFolder(folder, method="rft", base=base, dataset=dataset, settings={**SETTINGS, **settings})


@pytest.mark.parametrize(("threshold", "kept"), [(1.0, [0, 1, 4, 6]), (0.5, [0, 1, 3, 4, 6, 7])])
def test_attempts_below_the_threshold_are_excluded_and_counted(
    tmp_path: Path, base: Path, threshold: float, kept: list[int]
) -> None:
    rewards = [None, 1.0, 0.0, 0.6, 1.0, 0.2, None, 0.5]
    rft = rft_job(tmp_path / "rft", base, rewards, success_reward=threshold)
    assert rft.run() == 0
    assert rft.status["rejected"] == len(rewards) - len(kept)

    experts = expert_rows(len(rewards))
    dataset = write_rows(tmp_path / "kept.jsonl", [experts[i] for i in kept])
    sft = JobFolder(tmp_path / "sft", method="sft", base=base, dataset=dataset, settings=SETTINGS)
    assert sft.run() == 0
    expected = load_file(sft.output / "model.safetensors")
    for name, weight in load_file(rft.output / "model.safetensors").items():
        torch.testing.assert_close(weight, expected[name], atol=0, rtol=0)


def test_a_dataset_without_a_successful_attempt_is_rejected(tmp_path: Path, base: Path) -> None:
    job = rft_job(tmp_path / "rft", base, [0.0, 0.5])
    assert job.run() == EXIT_CODES["bad-input"]
    assert "2 with a reward below 1 were rejected" in job.failure["message"]


def test_a_reward_out_of_range_is_rejected_with_its_line(tmp_path: Path, base: Path) -> None:
    job = rft_job(tmp_path / "rft", base, [1.0, 7.0])
    assert job.run() == EXIT_CODES["bad-input"]
    assert job.failure["message"].startswith("dataset line 2.reward: found 7.0")
