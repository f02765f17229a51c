"""The setting `updates` fixes the number of updates of a job, in both engines."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.policy_files import read_manifest
from coevolve_trainer.parse_settings import parse_settings
from job_folder import JobFolder, exit_code, policy_bytes, wait_until

WEIGHTS = "model.safetensors"


@pytest.fixture(params=("builtin", pytest.param("trl", marks=pytest.mark.of_all)))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create_job(folder: Path, engine: str, datasets: Path, base: Path, **settings: Any) -> JobFolder:
    """A job on 48 demonstrations or 24 pairs: 6 or 3 updates per pass."""
    method = settings.pop("method", "sft")
    dataset = datasets / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    settings = {"batch_size": 8, "checkpoint_every": 2, "log_every": 1, "engine": engine} | settings
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings=settings)


@pytest.mark.parametrize(
    ("method", "updates", "epoch"), [("sft", 4, 4 / 6), ("sft", 15, 2.5), ("dpo", 5, 5 / 3)]
)
def test_a_job_makes_exactly_the_updates_that_are_set_and_its_schedule_ends_with_them(
    method: str, updates: int, epoch: float, engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", engine, datasets, base, method=method, updates=updates)
    assert job.run() == 0
    lines = job.events_of("step")
    assert [line["step"] for line in lines] == list(range(1, updates + 1))
    assert {line["total_steps"] for line in lines} == {updates}
    assert lines[-1]["epoch"] == pytest.approx(epoch)
    rates = [line["learning_rate"] for line in lines]
    assert rates[0] == max(rates)  # 5 % of so few updates: a warm-up of one
    assert 0 < rates[-1] < rates[0] / 2
    settings = read_manifest(job.output)["settings"]
    assert isinstance(settings, dict)
    assert (settings["updates"], settings["epochs"]) == (updates, None)


def test_updates_of_whole_passes_train_the_weights_of_as_many_epochs(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    epochs = create_job(tmp_path / "epochs", engine, datasets, base, epochs=2)
    updates = create_job(tmp_path / "updates", engine, datasets, base, updates=12)
    assert (epochs.run(), updates.run()) == (0, 0)
    assert policy_bytes(updates.output)[WEIGHTS] == policy_bytes(epochs.output)[WEIGHTS]
    assert "updates" not in str(read_manifest(epochs.output)["settings"])


def test_a_killed_job_resumes_within_an_incomplete_pass_and_ends_with_the_same_policy(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    uninterrupted, killed = (
        create_job(tmp_path / name, engine, datasets, base, method="target", updates=20)
        for name in ("uninterrupted", "killed")
    )
    assert uninterrupted.run() == 0
    child = killed.fork()
    wait_until(lambda: killed.newest_checkpoint >= 4)
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) == -signal.SIGKILL
    assert killed.run() == 0
    assert len(killed.resumed_steps) == 1
    assert policy_bytes(killed.output) == policy_bytes(uninterrupted.output)
    assert killed.events_of("step")[-1]["step"] == 20


def test_updates_and_epochs_together_are_rejected(tmp_path: Path, datasets: Path, base: Path) -> None:
    job = create_job(tmp_path / "job", "builtin", datasets, base, epochs=3, updates=12)
    assert job.run() == EXIT_CODES["bad-input"]
    assert job.failure["message"] == (
        "settings.epochs: found 3, expected nothing: "
        "settings.updates is 12 and determines the length of the job"
    )


@pytest.mark.parametrize("method", ["sft", "rft", "dpo", "target"])
def test_every_method_on_a_dataset_has_the_setting(method: str) -> None:
    settings = parse_settings(method, {"updates": 500})
    assert settings.total_updates(7) == 500  # type: ignore[union-attr]
