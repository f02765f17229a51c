"""RL jobs make one update per batch and publish a policy after each."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from job_folder import JobFolder, policy_bytes, rl_job, wait_until
from sampled_rollouts import Rows

STEPS = 3


def trainer_state_of(job: JobFolder) -> dict[str, Any]:
    state = job.folder / "trainer-state.safetensors"
    return {"trainer_state": str(state), "trainer_state_sha256": job.status["trainer_state_sha256"]}


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_each_update_publishes_a_policy_whose_manifest_names_its_predecessor(
    method: str, finished_rl_job: Callable[[str], JobFolder], trained: Path
) -> None:
    job = finished_rl_job(method)
    status, base = job.status, sha256_of_file(trained / "manifest.json")
    assert (status["state"], status["step"], status["total_steps"]) == ("succeeded", STEPS, STEPS)
    previous = base
    for step, policy in enumerate(status["policies"], 1):
        folder = job.folder / "policies" / f"step-{step:06d}"
        assert verify_policy(folder) == policy["policy_hash"]
        manifest = read_manifest(folder)
        assert manifest["method"] == method
        assert (manifest["base_hash"], manifest["reference_hash"]) == (previous, base)
        assert manifest["dataset_sha256"] == sha256_of_file(job.folder / f"rows-{step}.jsonl")
        metrics = {"ratio", "kl", "clipped_low", "clipped_high", "logp_gap", "grad_norm"}
        assert metrics <= policy["metrics"].keys()
        assert policy["loss"] == policy["loss"]  # not NaN
        previous = policy["policy_hash"]
    assert len(set(job.policy_hashes)) == STEPS
    assert policy_bytes(job.output) == policy_bytes(job.folder / "policies" / f"step-{STEPS:06d}")
    assert status["policy_hash"] == previous
    assert status["trainer_state_sha256"] == sha256_of_file(job.folder / "trainer-state.safetensors")
    assert status["truncated"] == 0
    assert status["segments"] == 16 * STEPS
    assert job.optimizer_steps == {STEPS}


def test_a_published_ppo_policy_has_no_value_head(
    finished_rl_job: Callable[[str], JobFolder], trained: Path
) -> None:
    published = load_file(finished_rl_job("ppo").output / "model.safetensors")
    assert published.keys() == load_file(trained / "model.safetensors").keys()


def test_batches_that_arrive_one_by_one_give_the_same_bytes(
    finished_rl_job: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained)

    def submit_one_by_one() -> None:
        for step in range(1, STEPS + 1):
            if step > 1:
                wait_until((job.folder / "policies" / f"step-{step - 1:06d}").exists)
            job.submit(step, batches[step - 1])

    caller = Thread(target=submit_one_by_one)
    caller.start()
    assert job.run() == 0
    caller.join()
    assert policy_bytes(job.output) == policy_bytes(finished_rl_job("grpo").output)
    assert job.policy_hashes == finished_rl_job("grpo").policy_hashes


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_two_jobs_connected_by_the_trainer_state_equal_one_job_of_all_updates(
    method: str, tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    whole = rl_job(tmp_path / "whole", trained, method=method, steps=4)
    first = rl_job(tmp_path / "first", trained, method=method, steps=2)
    for step, rows in enumerate(batches, 1):
        whole.submit(step, rows)
    for step in (1, 2):
        first.submit(step, batches[step - 1])
    assert [whole.run(), first.run()] == [0, 0]
    reference = {"reference": str(trained), "reference_hash": sha256_of_file(trained / "manifest.json")}

    def run_second(name: str, **fields: Any) -> JobFolder:
        job = rl_job(tmp_path / name, first.output, method=method, steps=2, **fields)
        for step in (1, 2):
            job.submit(step, batches[step + 1])
        assert job.run() == 0, job.failure
        return job

    second = run_second("second", **reference, **trainer_state_of(first))
    without_state = run_second("without-state", **reference)
    weights, expected, other = (
        load_file(job.output / "model.safetensors") for job in (second, whole, without_state)
    )
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert not all(torch.equal(other[name], expected[name]) for name in expected)
    assert whole.optimizer_steps == second.optimizer_steps == {4}
    manifest = read_manifest(second.folder / "policies" / "step-000001")
    assert manifest["trainer_state_sha256"] == first.status["trainer_state_sha256"]
    assert read_manifest(second.output)["trainer_state_sha256"] is None
    assert whole.status["trainer_state_sha256"] == second.status["trainer_state_sha256"]


def test_a_trainer_state_of_another_method_is_rejected(
    finished_rl_job: Callable[[str], JobFolder], tmp_path: Path, trained: Path
) -> None:
    job = rl_job(tmp_path / "job", trained, **trainer_state_of(finished_rl_job("ppo")))
    assert job.run() == EXIT_CODES["bad-input"]
    assert "trainer_state: found other tensors in" in job.failure["message"]


def test_a_finished_job_that_is_started_again_succeeds_without_an_update(
    finished_rl_job: Callable[[str], JobFolder],
) -> None:
    job = finished_rl_job("grpo")
    before, status = policy_bytes(job.output), job.status
    assert job.run() == 0
    assert policy_bytes(job.output) == before
    assert job.status["policies"] == status["policies"]
    assert job.status["trainer_state_sha256"] == status["trainer_state_sha256"]


def with_equal_rewards(rows: Rows) -> Rows:
    return [{**row, "advantage": 0.0} for row in rows]


def test_a_batch_of_groups_with_equal_rewards_changes_neither_weights_nor_optimizer(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, settings={"kl_coefficient": 1.0})
    for step, rows in enumerate(
        [with_equal_rewards(batches[0]), batches[1], with_equal_rewards(batches[2])], 1
    ):
        job.submit(step, rows)
    assert job.run() == 0, job.failure
    counts = [
        (policy["metrics"]["updates"], policy["metrics"]["updates_skipped"])
        for policy in job.status["policies"]
    ]
    assert counts == [(0, 1), (1, 0), (0, 1)]
    assert job.optimizer_steps == {1}
    folders = [trained, *(job.folder / "policies" / f"step-{step:06d}" for step in (1, 2, 3))]
    weights = [sha256_of_file(folder / "model.safetensors") for folder in folders]
    assert weights[0] == weights[1] != weights[2] == weights[3]


def test_a_job_without_any_update_hands_over_the_state_that_it_got(
    finished_rl_job: Callable[[str], JobFolder], tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    for name, fields in {"new": {}, "handed": trainer_state_of(finished_rl_job("grpo"))}.items():
        job = rl_job(tmp_path / name, trained, steps=2, settings={"idle_timeout_s": 0.1}, **fields)
        job.submit(1, with_equal_rewards(batches[0]))
        assert job.run() == EXIT_CODES["cancelled"], job.failure  # resumes from a checkpoint without moments
        job.submit(2, with_equal_rewards(batches[2]))
        assert job.run() == 0, job.failure
        after = rl_job(tmp_path / f"after-{name}", trained, steps=1, **trainer_state_of(job))
        after.submit(1, batches[1])
        assert after.run() == 0, after.failure
        assert after.optimizer_steps == {1 if name == "new" else STEPS + 1}
