"""RL jobs that are killed, stopped, idle or damaged."""

import json
import os
import signal
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.policy_files import verify_policy
from job_folder import JobFolder, exit_code, policy_bytes, rl_job, wait_until
from sampled_rollouts import Rows

STEPS = 3
# (function below coevolve_trainer.updates, number of the call) at which the process kills itself
MOMENTS = {
    "while it waits for the second batch": ("rollout_preparation.wait_for_batch", 2),
    "between gradient and optimizer step": ("divergence.math.isfinite", 3),
    "after an update, before its policy is written": ("trainer.save_policy", 2),
    "while a checkpoint is staged": ("checkpoint.canonical_json", 2),
    "between checkpoint and policy": ("rl_policies.publish_directory", 2),
    "after the last update, before the trainer state": ("rl_policies.write_trainer_state", 1),
    "before the output": ("rl_policies.publish_directory", 4),
}


def kill_at(job: JobFolder, function: str, call: int) -> None:
    """Runs the job in a process that kills itself at the given call of `function`."""
    assert exit_code(job.fork(lambda: replace_by_kill(function, call))) == -signal.SIGKILL


def replace_by_kill(function: str, call: int) -> None:
    *path, name = function.split(".")
    owner: Any = import_module("coevolve_trainer.updates." + path[0])
    if path[1:]:
        owner = getattr(owner, path[1])
    original, calls = getattr(owner, name), count(1)

    def kill_or_call(*arguments: Any, **named: Any) -> Any:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    setattr(owner, name, kill_or_call)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_job_killed_at_any_moment_publishes_the_same_policies_and_repeats_no_update(
    moment: str,
    finished_rl_job: Callable[[str], JobFolder],
    tmp_path: Path,
    trained: Path,
    batches: list[Rows],
) -> None:
    function, call = MOMENTS[moment]
    method = "ppo" if "checkpoint" in moment else "grpo"
    job = rl_job(tmp_path / "job", trained, method=method)
    for step in range(1, STEPS + 1):
        job.submit(step, batches[step - 1])
    kill_at(job, function, call)
    assert job.status["state"] == "running"
    assert len(list((job.folder / "policies").glob("step-*"))) <= STEPS

    assert job.run() == 0
    expected = finished_rl_job(method)
    assert job.policy_hashes == expected.policy_hashes
    assert policy_bytes(job.output) == policy_bytes(expected.output)
    assert job.optimizer_steps == {STEPS}
    assert job.status["trainer_state_sha256"] == expected.status["trainer_state_sha256"]
    checkpoints = [event["step"] for event in job.events_of("checkpoint")]
    assert len(checkpoints) == len(set(checkpoints))
    assert {path.name for path in (job.folder / "policies").iterdir()} == {
        f"step-{step:06d}" for step in range(1, STEPS + 1)
    }


# The same between the four updates on one batch
MOMENTS_IN_A_BATCH = {
    "before the first update on the second batch": ("rl_job.plan_mini_batches", 2),
    "while a checkpoint between two updates is staged": ("checkpoint.canonical_json", 2),
    "after the second update on the second batch": ("divergence.math.isfinite", 13),
    "before the policy of the second batch is written": ("trainer.save_policy", 2),
}
SEVERAL_UPDATES = {"epochs": 2, "mini_batches": 2, "importance_truncation": 1.5}


@pytest.fixture(scope="module")
def finished_with_several_updates(
    tmp_path_factory: pytest.TempPathFactory, trained: Path, batches: list[Rows]
) -> JobFolder:
    return several_updates_job(tmp_path_factory.mktemp("several") / "job", trained, batches)


def several_updates_job(
    folder: Path, policy: Path, batches: list[Rows], kill: tuple[str, int] | None = None
) -> JobFolder:
    job = rl_job(folder, policy, method="ppo", steps=2, settings=SEVERAL_UPDATES)
    for step in (1, 2):
        job.submit(step, batches[step - 1])
    if kill is not None:
        kill_at(job, *kill)
    assert job.run() == 0, job.failure
    return job


@pytest.mark.parametrize("moment", MOMENTS_IN_A_BATCH)
def test_a_job_killed_between_the_updates_on_a_batch_publishes_the_same_policies(
    moment: str,
    finished_with_several_updates: JobFolder,
    tmp_path: Path,
    trained: Path,
    batches: list[Rows],
) -> None:
    job = several_updates_job(tmp_path / "job", trained, batches, kill=MOMENTS_IN_A_BATCH[moment])
    expected = finished_with_several_updates
    assert job.policy_hashes == expected.policy_hashes
    assert policy_bytes(job.output) == policy_bytes(expected.output)
    assert [p["metrics"] for p in job.status["policies"]] == [
        p["metrics"] for p in expected.status["policies"]
    ]
    assert job.optimizer_steps == {8}
    checkpoints = [event["step"] for event in job.events_of("checkpoint")]
    assert checkpoints == list(range(1, 9))


def test_a_batch_that_is_replaced_after_a_part_of_its_updates_is_rejected(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, steps=1, settings=SEVERAL_UPDATES)
    job.submit(1, batches[0])
    kill_at(job, "divergence.math.isfinite", 7)
    job.submit(1, batches[1])
    assert job.run() == EXIT_CODES["bad-input"]
    assert "on which 3 updates are made" in job.failure["message"]


def test_a_damaged_checkpoint_is_skipped_and_its_update_repeated_with_the_same_bits(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, settings={"idle_timeout_s": 0.01})
    for step in (1, 2):
        job.submit(step, batches[step - 1])
    assert job.run() == EXIT_CODES["cancelled"]
    file = job.folder / "checkpoints" / "step-000002" / "optimizer.safetensors"
    os.truncate(file, file.stat().st_size // 2)
    before = job.policy_hashes
    assert job.run() == EXIT_CODES["cancelled"]
    assert job.policy_hashes == before
    assert job.resumed_steps == [1]


def test_a_job_with_changed_settings_starts_again_and_replaces_the_old_policies(
    finished_rl_job: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    settings = {"idle_timeout_s": 0.01, "learning_rate": 1e-2}
    job = rl_job(tmp_path / "job", trained, settings=settings)
    for step in (1, 2):
        job.submit(step, batches[step - 1])
    assert job.run() == EXIT_CODES["cancelled"]
    changed = json.loads((finished_rl_job("grpo").folder / "job.json").read_text())
    job.change(**changed | {"output": str(job.output)})
    kill_at(job, "rollout_preparation.wait_for_batch", 2)
    job.submit(3, batches[2])
    assert job.run() == 0
    assert job.resumed_steps == [1]
    assert job.policy_hashes == finished_rl_job("grpo").policy_hashes
    published = [verify_policy(job.folder / "policies" / f"step-{step:06d}") for step in (1, 2, 3)]
    assert published == job.policy_hashes


def test_a_job_without_a_batch_exits_after_its_idle_timeout_and_resumes(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, steps=1, settings={"idle_timeout_s": 0.1})
    assert job.run() == EXIT_CODES["cancelled"]
    assert job.failure["type"] == "cancelled"
    assert "no batch for update 1 within 0.1 s" in job.failure["message"]
    job.submit(1, batches[0])
    assert job.run() == 0


def test_sigterm_stops_a_job_that_waits_for_a_batch(tmp_path: Path, trained: Path) -> None:
    job = rl_job(tmp_path / "job", trained)
    child = job.fork()
    wait_until(lambda: (job.folder / "progress.jsonl").exists() and job.events_of("waiting"))
    os.kill(child, signal.SIGTERM)
    assert exit_code(child) == EXIT_CODES["cancelled"]
    assert job.failure["message"] == "stopped while waiting for the batch of update 1"
