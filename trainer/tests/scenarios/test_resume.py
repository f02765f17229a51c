"""Dataset and RL jobs that are killed or stopped resume and end with the policy of an uninterrupted job."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder, exit_code, policy_bytes, rl_job, wait_until
from sampled_rollouts import Rows

FULL: dict[str, Any] = {"epochs": 6, "batch_size": 2, "checkpoint_every": 2, "log_every": 5}
PAIRS = FULL | {"epochs": 10}
LORA = FULL | {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1, "learning_rate": 1e-2}
RL_STEPS = 36  # more updates than a busy machine makes between the kills


@pytest.mark.parametrize(
    ("name", "method", "settings", "kills"),
    [
        ("full", "sft", FULL, 8),
        pytest.param("full, written beside the updates", "sft", FULL, 8, marks=pytest.mark.of_all),
        pytest.param("lora", "sft", LORA, 8, marks=pytest.mark.of_all),
        pytest.param("dpo", "dpo", PAIRS, 5, marks=pytest.mark.of_all),
        pytest.param("target", "target", PAIRS, 5, marks=pytest.mark.of_all),
        ("grpo", "grpo", {}, 5),
    ],
)
def test_a_job_killed_at_random_moments_ends_with_the_policy_of_an_uninterrupted_one(
    name: str,
    method: str,
    settings: dict[str, Any],
    kills: int,
    tmp_path: Path,
    datasets: Path,
    trained: Path,
    batches: list[Rows],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def create_job(folder: Path) -> JobFolder:
        if method != "grpo":
            dataset = datasets / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
            return JobFolder(folder, method=method, base=trained, dataset=dataset, settings=settings)
        job = rl_job(folder, trained, steps=RL_STEPS)
        for step in range(1, RL_STEPS + 1):
            job.submit(step, batches[step % len(batches)])
        return job

    uninterrupted, killed = create_job(tmp_path / "uninterrupted"), create_job(tmp_path / "killed")
    assert uninterrupted.run() == 0
    if "beside" in name:
        monkeypatch.setattr("coevolve_trainer.updates.checkpoint_writer.BACKGROUND_BYTES", 0)
    draw = random.Random(name)
    must_resume = 0
    for kill in range(kills):
        updates = draw.choice((0, 1, 2) if method == "grpo" else (0, 1, 2, 4))
        before = killed.newest_checkpoint
        target = before + updates
        child = killed.fork()
        wait_until(lambda t=target, c=child: killed.newest_checkpoint >= t or has_exited(c))  # type: ignore[misc]
        # Without updates the kill falls into the loading of the policy; otherwise shortly before, into or
        # after the writing of a checkpoint
        time.sleep(draw.uniform(0, 0.05) if updates else draw.uniform(0, 0.25))
        os.kill(child, signal.SIGKILL)
        assert exit_code(child) == -signal.SIGKILL, f"the job had ended before kill {kill}"
        if updates:  # otherwise the process may have been killed before its first write
            assert killed.status["state"] == "running"
            must_resume += before > 0

    assert not killed.output.exists()
    assert killed.newest_checkpoint > 0
    assert killed.run() == 0
    resumed = killed.resumed_steps
    assert len(resumed) >= must_resume + 1
    assert resumed == sorted(resumed)
    assert policy_bytes(killed.output) == policy_bytes(uninterrupted.output)
    assert killed.status["policy_hash"] == uninterrupted.status["policy_hash"]
    assert killed.status["tokens"] == uninterrupted.status["tokens"]
    checkpoints = [event["step"] for event in killed.events_of("checkpoint")]
    # Per kill at most the checkpoint that was written but not yet logged is logged twice
    assert len(checkpoints) - len(set(checkpoints)) <= kills


def test_a_job_killed_after_it_published_its_policy_reports_the_totals_of_the_killed_process(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    def create_job(name: str) -> JobFolder:
        settings = {"epochs": 1, "batch_size": 2}
        return JobFolder(
            tmp_path / name, method="sft", base=trained, dataset=datasets / "experts.jsonl", settings=settings
        )

    def kill_instead(function: str) -> Callable[[], None]:
        return lambda: pytest.MonkeyPatch().setattr(function, lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    uninterrupted, killed = create_job("uninterrupted"), create_job("killed")
    assert uninterrupted.run() == 0
    published = kill_instead("coevolve_trainer.progress.Progress.report_success")
    started = kill_instead("coevolve_trainer.run.find_finished_policy")
    for moment in (published, started):
        assert exit_code(killed.fork(moment)) == -signal.SIGKILL
        assert killed.output.exists()
        assert killed.status["state"] == "running"
    assert killed.run() == 0
    assert len(killed.events_of("started")) == 1
    differ = {"pid", "start_time", "seconds", "tokens_per_s", "memory_bytes", "eta_s"}
    totals, expected = (
        {name: value for name, value in job.status.items() if name not in differ}
        for job in (killed, uninterrupted)
    )
    assert totals == expected
    assert totals["tokens"] > 0
    assert killed.status["seconds"] > 0


def has_exited(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def long_job(folder: Path, datasets: Path, base: Path) -> JobFolder:
    """A job of 144 updates with a checkpoint after every tenth."""
    settings: dict[str, Any] = {"checkpoint_every": 10, "log_every": 5, "epochs": 24}
    dataset = datasets / "experts.jsonl"
    return JobFolder(folder, method="sft", base=base, dataset=dataset, settings=settings)


def test_a_stopped_command_writes_a_checkpoint_and_a_truncated_one_is_skipped(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    uninterrupted = long_job(tmp_path / "uninterrupted", datasets, trained)
    assert uninterrupted.run() == 0
    job = long_job(tmp_path / "stopped", datasets, trained)
    child = job.spawn()
    wait_until(lambda: job.newest_checkpoint >= 20)
    child.send_signal(signal.SIGTERM)
    _, stderr = child.communicate()
    assert child.returncode == EXIT_CODES["cancelled"], stderr
    assert job.failure["type"] == "cancelled"
    earlier, newest = job.checkpoint_steps[-2:]
    assert job.failure["message"] == f"stopped after update {newest} of 144"

    file = job.folder / "checkpoints" / f"step-{newest:06d}" / "optimizer.safetensors"
    os.truncate(file, file.stat().st_size // 2)
    assert job.run() == 0
    assert job.resumed_steps == [earlier]
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


def test_a_second_process_on_a_running_job_changes_nothing(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    job = long_job(tmp_path / "job", datasets, trained)
    child = job.fork()
    wait_until(lambda: job.newest_checkpoint >= 10)
    os.kill(child, signal.SIGSTOP)  # holds the lock during the comparison
    before = job.status, job.events
    assert job.run() == EXIT_CODES["already-running"]
    assert (job.status, job.events) == before
    assert job.status["pid"] == child
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) == -signal.SIGKILL
