"""Jobs whose memory really runs out, in processes with a limit."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES
from job_folder import SOURCES, JobFolder

# Runs each job in its standard input in a forked process whose memory is limited from the second update on.
# Imports and torch's memory pools exist before that, so that the limit applies to the update's allocations.
LIMITED_RUNNER = """
import os, resource, sys
from pathlib import Path
from threading import Event
import torch, transformers
torch.set_num_threads(1)
from coevolve_trainer.run import run_job
import coevolve_trainer.updates.dataset_job
from coevolve_trainer.updates import update

accumulate_gradients, calls = update.accumulate_gradients, 0

def run_limited(folder, limit_bytes):
    def limited(*args, **kwargs):
        global calls
        calls += 1
        if calls == 2:
            data = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmData"))
            resource.setrlimit(resource.RLIMIT_DATA, (data + limit_bytes,) * 2)
        return accumulate_gradients(*args, **kwargs)
    update.accumulate_gradients = limited
    return run_job(Path(folder), Event())

for line in sys.stdin:
    folder, megabytes = line.split()
    child = os.fork()
    if child == 0:
        os._exit(run_limited(folder, int(megabytes) * 2**20))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def run_limited() -> Iterator[Callable[[JobFolder, int], int]]:
    """Runs a job with so many megabytes for an update; returns the exit code."""
    environment = os.environ | {"PYTHONPATH": str(SOURCES), "MALLOC_MMAP_THRESHOLD_": "65536"}
    runner = subprocess.Popen(
        [sys.executable, "-c", LIMITED_RUNNER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdin is not None
    assert runner.stdout is not None
    requests, results = runner.stdin, runner.stdout

    def run(job: JobFolder, megabytes: int) -> int:
        print(job.folder, megabytes, file=requests, flush=True)
        return int(results.readline())

    yield run
    requests.close()
    assert runner.wait() == 0


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, datasets: Path) -> Path:
    """A policy whose activations are many times larger than its weights."""
    settings = {"hidden_size": 128, "layers": 8, "feed_forward_size": 512, "vocabulary_size": 400}
    folder = tmp_path_factory.mktemp("wide") / "init"
    job = JobFolder(folder, method="init", dataset=datasets / "experts.jsonl", settings=settings)
    assert job.run() == 0
    return job.output


def create_job(folder: Path, datasets: Path, wide: Path) -> JobFolder:
    """A job of three updates with one micro-batch each, of about 170 MB."""
    settings: dict[str, Any] = {"epochs": 3, "batch_size": 48, "log_every": 1, "micro_batch_tokens": 2400}
    settings |= {"checkpoint_every": 2}
    return JobFolder(folder, method="sft", base=wide, dataset=datasets / "experts.jsonl", settings=settings)


def test_a_job_out_of_memory_continues_with_micro_batches_of_half_the_size(
    run_limited: Callable[[JobFolder, int], int], tmp_path: Path, datasets: Path, wide: Path
) -> None:
    unlimited, limited = (create_job(tmp_path / name, datasets, wide) for name in ("unlimited", "limited"))
    assert unlimited.run() == 0
    assert run_limited(limited, 142) == 0
    (halved,) = limited.events_of("micro_batch")
    del halved["time"]
    assert halved == {"event": "micro_batch", "step": 2, "micro_batch_tokens": 1200}
    assert [job.status["micro_batch_tokens"] for job in (unlimited, limited)] == [2400, 1200]
    assert '"micro_batch_tokens": 1200' in (limited.folder / "checkpoints/step-000002/state.json").read_text()
    assert limited.losses == pytest.approx(unlimited.losses, abs=1e-5)
    found, expected = (load_file(job.output / "model.safetensors") for job in (limited, unlimited))
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, atol=1e-5, rtol=1e-4)


def test_a_job_for_which_one_row_is_too_large_fails_as_out_of_memory(
    run_limited: Callable[[JobFolder, int], int], tmp_path: Path, datasets: Path, wide: Path
) -> None:
    job = create_job(tmp_path / "job", datasets, wide)
    assert run_limited(job, 1) == EXIT_CODES["out-of-memory"]
    assert job.failure["type"] == "out-of-memory"
    halved = [event["micro_batch_tokens"] for event in job.events_of("micro_batch")]
    assert halved[0] == 1200
    assert halved[-1] < 100  # rows have about 50 tokens
    assert job.failure["message"].startswith(f"micro-batches of {halved[-1]} tokens: ")
    assert "lower settings.max_length" in job.failure["message"]
    assert not job.output.exists()
