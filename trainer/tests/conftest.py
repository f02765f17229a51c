"""Real policies for the tests: made once by real jobs, small enough to make in a second."""

import os
import signal

os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest
import torch
from hypothesis import settings

from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import JobFolder, expert_rows, pair_rows, resident_job, write_rows
from policy_server_process import start
from sampled_rollouts import Rows, rollouts_of

torch.set_num_threads(1)
# The same examples in every run, so that a red run is the change's fault
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


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


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    child, address = start("--max-context", "256", "--max-waiting", "80")
    yield address
    child.send_signal(signal.SIGTERM)
    child.wait(5)


@pytest.fixture(scope="session")
def model(server: str, trained: Path) -> str:
    name = sha256_of_file(trained / "manifest.json")
    for _ in range(2):  # loading twice is success
        reply = httpx.post(
            f"{server}/v1/load_lora_adapter", json={"lora_name": name, "lora_path": str(trained)}
        )
        assert reply.status_code == 200, reply.text
    return name
