"""Jobs of two processes: launched as the service launches them, or forked, which saves them their imports."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file
from test_jobs import bytes_of

from coevolve_trainer.failures import EXIT_CODES, JobFailure
from coevolve_trainer.run import EXIT_TIMEOUT_S, run_job
from coevolve_trainer.updates.sharding import require_sharded
from job_folder import SOURCES, JobFolder, resident_job
from sampled_rollouts import Rows

ENVIRONMENT = os.environ | {"PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"}
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
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )


def run_forked(job: JobFolder) -> None:
    """Does the job in two processes that meet as launched ones do."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    ranks = [meeting | {"RANK": rank, "LOCAL_RANK": rank} for rank in ("0", "1")]
    children = [job.fork(partial(os.environ.update, rank)) for rank in ranks]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


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
    run_forked(job)
    assert (job.status["sharding"], job.status["processes"]) == (sharding, 2)
    assert curve(job) == pytest.approx(curve(alone(method)), abs=1e-5)
    assert job.status["tokens"] == alone(method).status["tokens"]
    assert_same_policy(job, alone(method))


def test_two_processes_make_the_updates_of_a_resident_job(
    finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = resident_job(tmp_path / "job", trained, settings={"sharding": "fsdp", "processes": 2})
    for step in (1, 2, 3):
        job.submit(step, batches[step - 1])
    run_forked(job)
    assert curve(job) == pytest.approx(curve(finished("grpo")), abs=1e-5)
    assert_same_policy(job, finished("grpo"))


def test_a_sharded_adapter_killed_in_the_middle_ends_with_the_same_policy(
    tmp_path: Path, workshop: Path, trained: Path
) -> None:
    lora: dict[str, Any] = {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1}
    lora |= {"precision": "bfloat16", "epochs": 1, "checkpoint_every": 2}
    smooth, killed = (
        job_in(tmp_path / name, "sft", workshop, trained, sharding="fsdp", processes=2, **lora)
        for name in ("smooth", "killed")
    )
    run_forked(smooth)
    child = subprocess.Popen(
        [*LAUNCH, "2", "-m", "coevolve_trainer", "run", str(killed.folder)], env=ENVIRONMENT
    )
    while not list((killed.folder / "checkpoints").glob("step-*")):
        assert child.poll() is None
        time.sleep(0.01)
    for process in (*psutil.Process(child.pid).children(recursive=True), child):
        process.kill()
    child.wait()
    assert killed.status["state"] == "running"
    assert launch(killed).returncode == 0
    assert [event["step"] for event in killed.events if event["event"] == "resumed"]
    assert bytes_of(killed.output) == bytes_of(smooth.output)


REFUSED: list[tuple[int, dict[str, Any], str]] = [
    (2, {"sharding": "ddp"}, "settings.processes: found 1, expected 2, the number of launched processes"),
    (2, {"sharding": "fsdp", "processes": 3}, "settings.processes: found 3, expected 2"),
    (2, {"processes": 2}, "settings.sharding: found none with 2 processes, expected ddp or fsdp"),
]


@pytest.mark.parametrize(("processes", "settings", "message"), REFUSED)
def test_a_launch_that_is_not_what_the_settings_say_is_refused(
    processes: int, settings: dict[str, Any], message: str, tmp_path: Path, workshop: Path, base: Path
) -> None:
    job = job_in(tmp_path / "job", "sft", workshop, base, **settings)
    assert launch(job, processes).returncode != 0
    assert job.status["failure"]["type"] == "bad-input"
    assert message in job.status["failure"]["message"]
    assert not job.output.exists()


def test_a_second_process_that_was_told_to_end_before_it_met_the_first_leaves_at_once(
    tmp_path: Path, workshop: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one may be gone, so that nobody would come."""
    job = job_in(tmp_path / "job", "sft", workshop, base, sharding="ddp", processes=2)
    meeting = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
    for name, value in meeting.items():
        monkeypatch.setenv(name, value)
    told = Event()
    told.set()
    began, handler = time.monotonic(), signal.getsignal(signal.SIGTERM)
    try:
        assert run_job(job.folder, told) == EXIT_CODES["cancelled"]
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert time.monotonic() - began < EXIT_TIMEOUT_S


def test_one_process_of_a_job_for_two_is_refused(tmp_path: Path, workshop: Path, base: Path) -> None:
    job = job_in(tmp_path / "job", "sft", workshop, base, sharding="fsdp", processes=2)
    assert job.run() == EXIT_CODES["bad-input"]
    assert "settings.processes: found 2, expected 1" in job.status["failure"]["message"]


def test_a_model_that_is_still_whole_is_refused() -> None:
    with pytest.raises(JobFailure, match="2 parameters not sharded over 2 processes, first weight"):
        require_sharded(torch.nn.Linear(2, 2), 2)


def test_a_failure_of_the_second_process_is_told_in_the_name_of_the_job(
    tmp_path: Path, workshop: Path, trained: Path
) -> None:
    """Its share of the first update asks for more memory than it may have, and the first one's does not."""
    job = job_in(tmp_path / "job", "sft", workshop, trained, sharding="fsdp", processes=2)
    script = tmp_path / "scarce.py"
    script.write_text(SCARCE)
    child = subprocess.run(
        [*LAUNCH, "2", str(script), str(job.folder)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert child.returncode != 0
    assert job.status["state"] == "failed"
    assert job.status["failure"]["type"] == "out-of-memory", child.stderr


# The second process asks torch for a petabyte when its first pass begins
SCARCE = """
import os, sys
from pathlib import Path
from threading import Event
import torch
from coevolve_trainer.run import run_job
from coevolve_trainer.updates import dataset_objectives
loss = dataset_objectives.SftObjective.loss
def greedy(self, scorer, micro_batch):
    if os.environ["RANK"] == "1":
        torch.empty(2**50)
    return loss(self, scorer, micro_batch)
dataset_objectives.SftObjective.loss = greedy
code = run_job(Path(sys.argv[1]), Event())
os._exit(code)
"""


def test_a_launch_that_is_told_to_stop_leaves_a_checkpoint_and_says_so(
    tmp_path: Path, workshop: Path, base: Path
) -> None:
    job = job_in(tmp_path / "job", "sft", workshop, base, sharding="ddp", processes=2, epochs=200)
    child = subprocess.Popen(
        [*LAUNCH, "2", "-m", "coevolve_trainer", "run", str(job.folder)],
        env=ENVIRONMENT,
        stderr=subprocess.DEVNULL,
    )
    while not list((job.folder / "checkpoints").glob("step-*")):
        assert child.poll() is None
        time.sleep(0.01)
    child.terminate()
    assert child.wait() != 0
    assert job.status["failure"]["type"] == "cancelled"
    newest = max(int(path.name[5:]) for path in (job.folder / "checkpoints").glob("step-*"))
    assert job.status["failure"]["message"] == f"stopped after update {newest} of {job.status['total_steps']}"
