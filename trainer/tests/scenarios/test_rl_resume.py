"""Killed, stopped, idle and torn resident jobs."""

import json
import os
import signal
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from test_jobs import bytes_of
from test_rl_jobs import STEPS, count_of_updates, hashes, until

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.policy_files import verify_policy
from job_folder import JobFolder, resident_job
from sampled_rollouts import Rows

# (the function that is being called, at which call): where the process dies by its own SIGKILL
MOMENTS = {
    "waiting for the second batch": ("rl_job.wait_for_batch", 2),
    "between gradient and optimizer step": ("divergence.math.isfinite", 3),
    "after an update, before its policy is written": ("trainer.save_policy", 2),
    "while a checkpoint is being staged": ("checkpoint.canonical_json", 3),
    "between the checkpoint and the policy": ("rl_job.publish_directory", 2),
    "after the last update, before the trainer state": ("rl_job.write_trainer_state", 1),
    "before the output": ("rl_job.publish_directory", 4),
}


def die_at(job: JobFolder, place: str, call: int) -> None:
    _, status = os.waitpid(job.fork(lambda: make_deadly(place, call)), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def make_deadly(place: str, call: int) -> None:
    """From here on the function at `place` kills its process when it is called for the `call`th time."""
    *path, name = place.split(".")
    owner: Any = import_module("coevolve_trainer.updates." + path[0])
    if path[1:]:
        owner = getattr(owner, path[1])
    original, calls = getattr(owner, name), count(1)

    def deadly(*arguments: Any, **named: Any) -> Any:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    setattr(owner, name, deadly)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_job_killed_at_any_moment_ends_with_the_same_hashes_and_repeats_no_update(
    moment: str, finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    place, call = MOMENTS[moment]
    method = "ppo" if "checkpoint" in moment else "grpo"
    job = resident_job(tmp_path / "job", trained, method=method)
    for step in range(1, STEPS + 1):
        job.submit(step, batches[step - 1])
    die_at(job, place, call)
    assert job.status["state"] == "running"
    before = len(list((job.folder / "policies").glob("step-*")))

    assert job.run() == 0
    expected = finished(method)
    assert hashes(job) == hashes(expected)
    assert bytes_of(job.output) == bytes_of(expected.output)
    assert count_of_updates(job) == {STEPS}
    assert job.status["trainer_state_sha256"] == expected.status["trainer_state_sha256"]
    committed = [event["step"] for event in job.events if event["event"] == "checkpoint"]
    assert len(committed) == len(set(committed))
    assert before <= STEPS
    assert {path.name for path in (job.folder / "policies").iterdir()} == {
        f"step-{step:06d}" for step in range(1, STEPS + 1)
    }


def test_a_damaged_checkpoint_is_passed_over_and_its_update_made_again_to_the_same_bits(
    finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = resident_job(tmp_path / "job", trained, settings={"idle_timeout_s": 0.01})
    for step in (1, 2):
        job.submit(step, batches[step - 1])
    assert job.run() == EXIT_CODES["cancelled"]
    torn = job.folder / "checkpoints" / "step-000002" / "optimizer.safetensors"
    os.truncate(torn, torn.stat().st_size // 2)
    first = hashes(job)
    assert job.run() == EXIT_CODES["cancelled"]
    assert hashes(job) == first
    assert [event["step"] for event in job.events if event["event"] == "resumed"] == [1]


def test_a_job_that_is_given_other_settings_begins_anew_and_nothing_of_the_old_one_stays(
    finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    settings = {"idle_timeout_s": 0.01, "learning_rate": 1e-2}
    job = resident_job(tmp_path / "job", trained, settings=settings)
    for step in (1, 2):
        job.submit(step, batches[step - 1])
    assert job.run() == EXIT_CODES["cancelled"]
    mended = json.loads((finished("grpo").folder / "job.json").read_text()) | {"output": str(job.output)}
    (job.folder / "job.json").write_text(json.dumps(mended))
    die_at(job, "rl_job.wait_for_batch", 2)
    job.submit(3, batches[2])
    assert job.run() == 0
    assert [event["step"] for event in job.events if event["event"] == "resumed"] == [1]
    assert hashes(job) == hashes(finished("grpo"))
    published = [verify_policy(job.folder / "policies" / f"step-{step:06d}") for step in (1, 2, 3)]
    assert published == hashes(job)


def test_a_job_without_a_batch_leaves_after_its_idle_timeout_and_goes_on_when_one_comes(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = resident_job(tmp_path / "job", trained, steps=1, settings={"idle_timeout_s": 0.1})
    assert job.run() == EXIT_CODES["cancelled"]
    failure = job.status["failure"]
    assert failure["type"] == "cancelled"
    assert "no batch for update 1 within 0.1 s" in failure["message"]
    job.submit(1, batches[0])
    assert job.run() == 0


def test_a_waiting_job_stops_at_once_on_sigterm(tmp_path: Path, trained: Path) -> None:
    job = resident_job(tmp_path / "job", trained)
    child = job.spawn()
    until(
        lambda: (job.folder / "progress.jsonl").exists() and any(e["event"] == "waiting" for e in job.events)
    )
    child.send_signal(signal.SIGTERM)
    _, message = child.communicate(timeout=60)
    assert child.returncode == EXIT_CODES["cancelled"]
    assert "stopped while waiting for the batch of update 1" in message
