"""Real policies for the tests: made once by real jobs, small enough to make in a second."""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from job_folder import JobFolder, expert_rows, pair_rows, resident_job, write_rows
from rollouts_of import Rows, rollouts_of

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    write_rows(folder / "experts.jsonl", expert_rows(48))
    write_rows(folder / "pairs.jsonl", pair_rows(24))
    return folder


@pytest.fixture(scope="session")
def base(workshop: Path) -> Path:
    settings = {"hidden_size": 32, "layers": 2, "feed_forward_size": 64, "vocabulary_size": 400}
    job = JobFolder(workshop / "init", method="init", dataset=workshop / "experts.jsonl", settings=settings)
    assert job.run() == 0
    return job.output


@pytest.fixture(scope="session")
def trained(workshop: Path, base: Path) -> Path:
    settings = {"epochs": 6}
    dataset = workshop / "experts.jsonl"
    job = JobFolder(workshop / "sft", method="sft", base=base, dataset=dataset, settings=settings)
    assert job.run() == 0
    return job.output


@pytest.fixture(scope="session")
def batches(trained: Path) -> list[Rows]:
    return [rollouts_of(trained, seed=seed) for seed in range(4)]


@pytest.fixture(scope="session")
def finished(workshop: Path, trained: Path, batches: list[Rows]) -> Callable[[str], JobFolder]:
    """A resident job of the given method whose three batches were all there before it began."""

    @cache
    def made(method: str) -> JobFolder:
        job = resident_job(workshop / method, trained, method=method)
        for step in (1, 2, 3):
            job.submit(step, batches[step - 1])
        assert job.run() == 0, job.status["failure"]
        return job

    return made
