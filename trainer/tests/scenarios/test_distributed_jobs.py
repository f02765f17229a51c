"""Jobs of two processes: launched as the service launches them, or forked, which needs no imports."""

import os
import signal
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES, JobFailure
from coevolve_trainer.run import EXIT_TIMEOUT_S, run_job
from coevolve_trainer.updates.dataset_objectives import SftObjective
from coevolve_trainer.updates.sharding import require_sharded
from job_folder import JobFolder, exit_code, policy_bytes, rl_job, wait_until
from ranks import fork_ranks, launch, run_forked
from sampled_rollouts import Rows

SETTINGS: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 6,
    "log_every": 1,
    "checkpoint_every": 3,
    "learning_rate": 1e-3,
}


def create_job(folder: Path, method: str, datasets: Path, base: Path, **settings: Any) -> JobFolder:
    dataset = datasets / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings={**SETTINGS, **settings})


@pytest.fixture(scope="module")
def single_process_job(
    tmp_path_factory: pytest.TempPathFactory, datasets: Path, trained: Path
) -> Callable[[str], JobFolder]:
    """The same job in one process."""

    @cache
    def run(method: str) -> JobFolder:
        job = create_job(tmp_path_factory.mktemp("single") / "job", method, datasets, trained)
        assert job.run() == 0
        return job

    return run


def assert_same_updates(job: JobFolder, other: JobFolder, base: Path) -> None:
    """Compares what both added to each tensor of the base, by norms. Processors round differently, and
    AdamW turns the rounding of a gradient near 0 into a whole step of that element."""
    found, expected, start = (
        load_file(folder / "model.safetensors") for folder in (job.output, other.output, base)
    )
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        error = (found[name] - weight).norm() / (weight - start[name]).norm()
        assert error < 5e-4, f"{name}: {error:.1e}"


@pytest.mark.parametrize(
    ("method", "sharding"),
    [
        ("sft", "fsdp"),
        pytest.param("sft", "ddp", marks=pytest.mark.of_all),
        pytest.param("dpo", "ddp", marks=pytest.mark.of_all),
        pytest.param("dpo", "fsdp", marks=pytest.mark.of_all),
    ],
)
def test_two_processes_train_the_policy_of_one(
    method: str,
    sharding: str,
    single_process_job: Callable[[str], JobFolder],
    tmp_path: Path,
    datasets: Path,
    trained: Path,
) -> None:
    job = create_job(tmp_path / "job", method, datasets, trained, sharding=sharding, processes=2)
    assert run_forked(job) == [0, 0]
    expected = single_process_job(method)
    assert (job.status["sharding"], job.status["processes"]) == (sharding, 2)
    assert job.losses == pytest.approx(expected.losses, abs=1e-5)
    assert job.status["tokens"] == expected.status["tokens"]
    assert_same_updates(job, expected, trained)


@pytest.mark.of_all
def test_two_processes_make_the_updates_of_an_rl_job(
    finished_rl_job: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, settings={"sharding": "fsdp", "processes": 2})
    for step in (1, 2, 3):
        job.submit(step, batches[step - 1])
    assert run_forked(job) == [0, 0]
    assert job.losses == pytest.approx(finished_rl_job("grpo").losses, abs=1e-5)
    assert_same_updates(job, finished_rl_job("grpo"), trained)


@pytest.mark.of_all
def test_a_killed_job_with_a_sharded_adapter_is_launched_again_and_ends_with_the_same_policy(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    lora: dict[str, Any] = {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1}
    lora |= {"precision": "bfloat16", "epochs": 1, "checkpoint_every": 2}
    uninterrupted, killed = (
        create_job(tmp_path / name, "sft", datasets, trained, sharding="fsdp", processes=2, **lora)
        for name in ("uninterrupted", "killed")
    )
    assert run_forked(uninterrupted) == [0, 0]
    children = fork_ranks(killed)
    wait_until(lambda: killed.newest_checkpoint)
    for child in children:
        os.kill(child, signal.SIGKILL)
    assert [exit_code(child) for child in children] == [-signal.SIGKILL] * 2
    assert killed.status["state"] == "running"
    _, stderr = (launcher := launch(killed)).communicate()
    assert launcher.returncode == 0, stderr
    assert killed.resumed_steps
    assert policy_bytes(killed.output) == policy_bytes(uninterrupted.output)


REJECTED: list[tuple[dict[str, Any], str]] = [
    ({"sharding": "ddp"}, "settings.processes: found 1, expected 2, the number of launched processes"),
    ({"sharding": "fsdp", "processes": 3}, "settings.processes: found 3, expected 2"),
    ({"processes": 2}, "settings.sharding: found none with 2 processes, expected ddp or fsdp"),
]


@pytest.mark.parametrize(("settings", "message"), REJECTED)
def test_a_launch_that_does_not_match_the_settings_is_rejected(
    settings: dict[str, Any], message: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", "sft", datasets, base, **settings)
    assert run_forked(job)[0] == EXIT_CODES["bad-input"]  # rank zero exits first and reports
    assert job.failure["type"] == "bad-input"
    assert message in job.failure["message"]
    assert not job.output.exists()


def test_one_process_of_a_job_for_two_is_rejected(tmp_path: Path, datasets: Path, base: Path) -> None:
    job = create_job(tmp_path / "job", "sft", datasets, base, sharding="fsdp", processes=2)
    assert job.run() == EXIT_CODES["bad-input"]
    assert "settings.processes: found 2, expected 1" in job.failure["message"]


def test_a_model_that_is_not_sharded_is_rejected() -> None:
    with pytest.raises(JobFailure, match="2 parameters not sharded over 2 processes, first weight"):
        require_sharded(torch.nn.Linear(2, 2), 2)


def test_rank_one_exits_at_once_when_it_is_stopped_before_the_rendezvous(
    tmp_path: Path, datasets: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank zero may have exited, so that the rendezvous would not complete."""
    job = create_job(tmp_path / "job", "sft", datasets, base, sharding="ddp", processes=2)
    variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stop = Event()
    stop.set()
    started, handler = time.monotonic(), signal.getsignal(signal.SIGTERM)
    try:
        assert run_job(job.folder, stop) == EXIT_CODES["cancelled"]
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert time.monotonic() - started < EXIT_TIMEOUT_S


@pytest.mark.of_all
def test_a_failure_of_rank_one_is_the_failure_of_the_job(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    def fail_on_rank_one() -> None:
        loss = SftObjective.loss

        def allocate_a_petabyte(*arguments: Any) -> Any:
            if os.environ["RANK"] == "1":
                torch.empty(2**50)
            return loss(*arguments)

        SftObjective.loss = allocate_a_petabyte  # type: ignore[method-assign, assignment]

    job = create_job(tmp_path / "job", "sft", datasets, trained, sharding="fsdp", processes=2)
    assert run_forked(job, fail_on_rank_one)[0] != 0
    assert job.status["state"] == "failed"
    assert job.failure["type"] == "out-of-memory"


@pytest.mark.of_all
def test_a_launch_that_is_stopped_writes_a_checkpoint_and_reports_it(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", "sft", datasets, base, sharding="ddp", processes=2, epochs=200)
    launcher = launch(job)
    wait_until(lambda: job.newest_checkpoint or launcher.poll() is not None)
    launcher.terminate()
    _, stderr = launcher.communicate()
    assert launcher.returncode != 0
    assert job.failure["type"] == "cancelled", stderr
    total = job.status["total_steps"]
    assert job.failure["message"] == f"stopped after update {job.newest_checkpoint} of {total}"
