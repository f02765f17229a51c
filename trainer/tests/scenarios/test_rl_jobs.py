"""Resident jobs: one update per batch, whatever happens in between."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from test_jobs import bytes_of

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from job_folder import JobFolder, resident_job
from sampled_rollouts import Rows

STEPS = 3


def hashes(job: JobFolder) -> list[str]:
    return [policy["policy_hash"] for policy in job.status["policies"]]


def count_of_updates(job: JobFolder) -> set[int]:
    """AdamW's own count, the same for every parameter."""
    state = load_file(job.folder / "trainer-state.safetensors")
    return {int(value) for name, value in state.items() if name.endswith(".step")}


def trainer_state_of(job: JobFolder) -> dict[str, Any]:
    state = job.folder / "trainer-state.safetensors"
    return {"trainer_state": str(state), "trainer_state_sha256": job.status["trainer_state_sha256"]}


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_a_policy_is_published_after_each_update_and_names_what_it_was_made_from(
    method: str, finished: Callable[[str], JobFolder], trained: Path
) -> None:
    job = finished(method)
    status, base = job.status, sha256_of_file(trained / "manifest.json")
    assert (status["state"], status["step"], status["total_steps"]) == ("succeeded", STEPS, STEPS)
    before = base
    for step, policy in enumerate(status["policies"], 1):
        folder = job.folder / "policies" / f"step-{step:06d}"
        assert verify_policy(folder) == policy["policy_hash"]
        manifest = read_manifest(folder)
        assert manifest["method"] == method
        assert (manifest["base_hash"], manifest["reference_hash"]) == (before, base)
        assert manifest["dataset_sha256"] == sha256_of_file(job.folder / f"rows-{step}.jsonl")
        assert {"ratio", "kl", "clipped_low", "clipped_high", "logp_gap", "grad_norm"} <= policy[
            "metrics"
        ].keys()
        assert policy["loss"] == policy["loss"]
        before = policy["policy_hash"]
    assert len(set(hashes(job))) == STEPS
    assert bytes_of(job.output) == bytes_of(job.folder / "policies" / f"step-{STEPS:06d}")
    assert status["policy_hash"] == before
    assert status["trainer_state_sha256"] == sha256_of_file(job.folder / "trainer-state.safetensors")
    assert status["truncated"] == 0
    assert status["segments"] == 16 * STEPS
    assert count_of_updates(job) == {STEPS}


def test_a_published_policy_of_ppo_has_no_value_head(
    finished: Callable[[str], JobFolder], trained: Path
) -> None:
    published = load_file(finished("ppo").output / "model.safetensors")
    assert published.keys() == load_file(trained / "model.safetensors").keys()


def test_batches_that_come_late_one_by_one_give_the_same_bytes(
    finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = resident_job(tmp_path / "job", trained)

    def feed() -> None:
        for step in range(1, STEPS + 1):
            if step > 1:
                until((job.folder / "policies" / f"step-{step - 1:06d}").exists)
            job.submit(step, batches[step - 1])

    feeder = Thread(target=feed)
    feeder.start()
    assert job.run() == 0
    feeder.join()
    assert bytes_of(job.output) == bytes_of(finished("grpo").output)
    assert hashes(job) == hashes(finished("grpo"))


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_two_jobs_that_hand_over_the_trainer_state_equal_one_of_all_their_updates(
    method: str, tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    whole = resident_job(tmp_path / "whole", trained, method=method, steps=4)
    halves = [resident_job(tmp_path / "first", trained, method=method, steps=2)]
    for step, rows in enumerate(batches, 1):
        whole.submit(step, rows)
    for step in (1, 2):
        halves[0].submit(step, batches[step - 1])
    assert [whole.run(), halves[0].run()] == [0, 0]
    reference = {"reference": str(trained), "reference_hash": sha256_of_file(trained / "manifest.json")}
    handed = trainer_state_of(halves[0])
    for name, more in (("second", reference | handed), ("forgetful", reference)):
        job = resident_job(tmp_path / name, halves[0].output, method=method, steps=2, **more)
        for step in (1, 2):
            job.submit(step, batches[step + 1])
        assert job.run() == 0, job.status["failure"]
        halves.append(job)

    weights = [load_file(job.output / "model.safetensors") for job in (whole, *halves[1:])]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])
    assert count_of_updates(whole) == count_of_updates(halves[1]) == {4}
    first = read_manifest(halves[1].folder / "policies" / "step-000001")
    assert first["trainer_state_sha256"] == handed["trainer_state_sha256"]
    assert read_manifest(halves[1].output)["trainer_state_sha256"] is None
    assert whole.status["trainer_state_sha256"] == halves[1].status["trainer_state_sha256"]


def test_a_trainer_state_of_another_method_is_refused(
    finished: Callable[[str], JobFolder], tmp_path: Path, trained: Path
) -> None:
    job = resident_job(tmp_path / "job", trained, **trainer_state_of(finished("ppo")))
    assert job.run() == EXIT_CODES["bad-input"]
    assert "trainer_state: found other tensors in" in job.status["failure"]["message"]


def test_a_finished_job_started_again_succeeds_without_an_update(
    finished: Callable[[str], JobFolder],
) -> None:
    job = finished("grpo")
    before, status = bytes_of(job.output), job.status
    assert job.run() == 0
    assert bytes_of(job.output) == before
    assert job.status["policies"] == status["policies"]
    assert job.status["trainer_state_sha256"] == status["trainer_state_sha256"]
