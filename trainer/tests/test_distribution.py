"""Jobs of two processes, launched as the service launches them."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from job_folder import SOURCES, JobFolder

LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
SETTINGS: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 6,
    "log_every": 1,
    "checkpoint_every": 3,
    "learning_rate": 1e-3,
}


def launch(job: JobFolder, processes: int = 2) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAUNCH, str(processes), "-m", "coevolve_trainer", "run", str(job.folder)],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def job_in(folder: Path, method: str, workshop: Path, base: Path, **settings: Any) -> JobFolder:
    dataset = workshop / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings={**SETTINGS, **settings})


def curve(job: JobFolder) -> list[float]:
    return [event["loss"] for event in job.events if event["event"] == "step"]


@pytest.fixture(scope="module")
def alone(
    tmp_path_factory: pytest.TempPathFactory, workshop: Path, trained: Path
) -> Callable[[str], JobFolder]:
    """The same job as one process does it."""

    @cache
    def made(method: str) -> JobFolder:
        job = job_in(tmp_path_factory.mktemp("alone") / "job", method, workshop, trained)
        assert job.run() == 0
        return job

    return made


def assert_same_policy(job: JobFolder, other: JobFolder) -> None:
    found, expected = (load_file(j.output / "model.safetensors") for j in (job, other))
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("method", "sharding"), [("sft", "ddp"), ("sft", "fsdp"), ("dpo", "ddp"), ("dpo", "fsdp")]
)
def test_two_processes_learn_what_one_learns(
    method: str,
    sharding: str,
    alone: Callable[[str], JobFolder],
    tmp_path: Path,
    workshop: Path,
    trained: Path,
) -> None:
    job = job_in(tmp_path / "job", method, workshop, trained, sharding=sharding, processes=2)
    child = launch(job)
    assert child.returncode == 0, child.stderr
    assert (job.status["sharding"], job.status["processes"]) == (sharding, 2)
    assert curve(job) == pytest.approx(curve(alone(method)), abs=1e-5)
    assert job.status["tokens"] == alone(method).status["tokens"]
    assert_same_policy(job, alone(method))
