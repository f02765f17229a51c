"""Jobs that run out of memory, in processes that really do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES
from job_folder import SOURCES, JobFolder

# Everything is imported, and torch's pools are made, before the limit on what may still be allocated is set
LIMITED = """
import resource, sys
from pathlib import Path
from threading import Event
import torch, transformers
torch.set_num_threads(1)
from coevolve_trainer.run import run_job
import coevolve_trainer.updates.dataset_job
from coevolve_trainer.updates import update
def limited(*args, **kwargs):
    global made
    made += 1
    if made == 2:
        held = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (held + int(float(sys.argv[2]) * 2**20),) * 2)
    return accumulate_gradients(*args, **kwargs)
made, accumulate_gradients = 0, update.accumulate_gradients
update.accumulate_gradients = limited
sys.exit(run_job(Path(sys.argv[1]), Event()))
"""


def run_limited(job: JobFolder, megabytes: float) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SOURCES), "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", LIMITED, str(job.folder), str(megabytes)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, workshop: Path) -> Path:
    """A policy whose activations are many times its weights."""
    settings = {"hidden_size": 128, "layers": 8, "feed_forward_size": 512, "vocabulary_size": 400}
    folder = tmp_path_factory.mktemp("wide") / "init"
    job = JobFolder(folder, method="init", dataset=workshop / "experts.jsonl", settings=settings)
    assert job.run() == 0
    return job.output


def job_in(folder: Path, workshop: Path, wide: Path) -> JobFolder:
    """Three updates of one part each, of some 170 MB."""
    settings: dict[str, Any] = {"epochs": 3, "batch_size": 48, "log_every": 1, "micro_batch_tokens": 2400}
    settings |= {"checkpoint_every": 2}
    return JobFolder(folder, method="sft", base=wide, dataset=workshop / "experts.jsonl", settings=settings)


def test_a_job_out_of_memory_goes_on_with_parts_of_half_the_size(
    tmp_path: Path, workshop: Path, wide: Path
) -> None:
    ample, scarce = (job_in(tmp_path / name, workshop, wide) for name in ("ample", "scarce"))
    assert ample.run() == 0
    child = run_limited(scarce, 142)
    assert child.returncode == 0, child.stderr
    (halved,) = (event for event in scarce.events if event["event"] == "micro_batch")
    assert halved == {"event": "micro_batch", "step": 2, "micro_batch_tokens": 1200}
    assert (ample.status["micro_batch_tokens"], scarce.status["micro_batch_tokens"]) == (2400, 1200)
    assert '"micro_batch_tokens": 1200' in (scarce.folder / "checkpoints/step-000002/state.json").read_text()
    losses = [[e["loss"] for e in job.events if e["event"] == "step"] for job in (ample, scarce)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    found, expected = (load_file(job.output / "model.safetensors") for job in (scarce, ample))
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, atol=1e-5, rtol=1e-4)


def test_a_job_whose_half_parts_are_too_large_as_well_says_so(
    tmp_path: Path, workshop: Path, wide: Path
) -> None:
    job = job_in(tmp_path / "job", workshop, wide)
    assert run_limited(job, 4).returncode == EXIT_CODES["out-of-memory"]
    failure = job.status["failure"]
    assert failure["type"] == "out-of-memory"
    assert failure["message"].startswith("micro-batches of 1200 tokens: ")
    assert len([event for event in job.events if event["event"] == "micro_batch"]) == 1
    assert not job.output.exists()
