"""Fixtures: small real policies, made once per session by real jobs of about a second each."""

import gc
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

import gpu
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.dataset import Example, read_dataset
from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import JobFolder, expert_rows, pair_rows, rl_job, write_rows
from policy_server_process import start
from sampled_rollouts import Rows, sample_rollouts

gpu.hide()
torch.set_num_threads(1)
gc.set_threshold(50_000)  # as the command; the default collects the modules' objects again and again
# The same examples in every run, so that only a change of the code can make a test fail
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 48 demonstrations and 24 pairs; further session fixtures add their jobs."""
    folder = tmp_path_factory.mktemp("datasets")
    write_rows(folder / "experts.jsonl", expert_rows(48))
    write_rows(folder / "pairs.jsonl", pair_rows(24))
    return folder


@pytest.fixture(scope="session")
def base(datasets: Path) -> Path:
    """A policy of method `init`."""
    settings = {"hidden_size": 32, "layers": 2, "feed_forward_size": 64, "vocabulary_size": 400}
    settings |= {"max_positions": 1024}
    job = JobFolder(datasets / "init", method="init", dataset=datasets / "experts.jsonl", settings=settings)
    assert job.run() == 0
    return job.output


@pytest.fixture(scope="session")
def trained(datasets: Path, base: Path) -> Path:
    """The base after supervised fine-tuning."""
    settings = {"epochs": 6}
    dataset = datasets / "experts.jsonl"
    job = JobFolder(datasets / "sft", method="sft", base=base, dataset=dataset, settings=settings)
    assert job.run() == 0
    return job.output


@pytest.fixture(scope="session")
def mixed_examples(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    """Five pairs, and four demonstrations of different weights."""
    rows = [*pair_rows(5), *({**row, "weight": 0.25 * i} for i, row in enumerate(expert_rows(4)))]
    path = write_rows(tmp_path_factory.mktemp("mixed") / "rows.jsonl", rows)
    encoder = ChatEncoder.load(trained)
    return read_dataset(path, encoder, pairs=True, demonstrations=True, max_length=512).examples


@pytest.fixture(scope="session")
def batches(trained: Path) -> list[Rows]:
    """Four batches of rollouts."""
    return [sample_rollouts(trained, seed=seed) for seed in range(4)]


@pytest.fixture(scope="session")
def finished_rl_job(datasets: Path, trained: Path, batches: list[Rows]) -> Callable[[str], JobFolder]:
    """An RL job of the given method whose three batches existed before it started."""

    @cache
    def run(method: str) -> JobFolder:
        job = rl_job(datasets / method, trained, method=method)
        for step in (1, 2, 3):
            job.submit(step, batches[step - 1])
        assert job.run() == 0, job.failure
        return job

    return run


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a policy server."""
    child, address = start("--max-context", "256", "--max-waiting", "80")
    yield address
    child.send_signal(signal.SIGTERM)
    child.wait(5)


@pytest.fixture(scope="session")
def model(server: str, trained: Path) -> str:
    """The hash of the trained policy, loaded into the server."""
    policy_hash = sha256_of_file(trained / "manifest.json")
    for _ in range(2):  # loading again succeeds
        response = httpx.post(
            f"{server}/v1/load_lora_adapter", json={"lora_name": policy_hash, "lora_path": str(trained)}
        )
        assert response.status_code == 200, response.text
    return policy_hash
