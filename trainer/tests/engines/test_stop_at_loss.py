"""The setting `stop_at_loss` ends a supervised job early, in both engines."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.files.policy_files import read_manifest
from coevolve_trainer.parse_settings import parse_settings
from coevolve_trainer.settings import STOP_WINDOW, SftSettings
from job_folder import JobFolder, exit_code, policy_bytes, wait_until

WEIGHTS = "model.safetensors"
UPDATES = 48


@pytest.fixture(params=("builtin", pytest.param("trl", marks=pytest.mark.of_all)))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create_job(folder: Path, engine: str, datasets: Path, base: Path, **settings: Any) -> JobFolder:
    """A job whose learning rate does not depend on the number of its updates."""
    settings = {"schedule": "constant", "warmup_fraction": 0.0, "updates": UPDATES} | settings
    settings |= {"batch_size": 8, "checkpoint_every": 3, "log_every": 1, "engine": engine}
    return JobFolder(folder, method="sft", base=base, dataset=datasets / "experts.jsonl", settings=settings)


def test_a_job_ends_with_the_first_window_of_updates_whose_mean_loss_is_low_enough(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    whole = create_job(tmp_path / "whole", engine, datasets, base)
    assert whole.run() == 0
    losses = [line["loss"] for line in whole.events_of("step")]
    means = [sum(losses[end - STOP_WINDOW : end]) / STOP_WINDOW for end in range(STOP_WINDOW, UPDATES + 1)]
    limit = means[15] * (1 + 1e-6)
    end = STOP_WINDOW + next(index for index, mean in enumerate(means) if mean <= limit)

    stopped = create_job(tmp_path / "stopped", engine, datasets, base, stop_at_loss=limit)
    fixed = create_job(tmp_path / "fixed", engine, datasets, base, updates=end)
    assert (stopped.run(), fixed.run()) == (0, 0)
    last = stopped.events_of("step")[-1]
    assert (last["step"], last["total_steps"]) == (end, end)
    assert policy_bytes(stopped.output)[WEIGHTS] == policy_bytes(fixed.output)[WEIGHTS]

    # Stopped at some update, mostly between two checkpoints, and killed later, it ends at the same one
    interrupted = create_job(tmp_path / "interrupted", engine, datasets, base, stop_at_loss=limit)
    for number, least in ((signal.SIGTERM, 6), (signal.SIGKILL, 24)):
        child = interrupted.fork()
        wait_until(lambda least=least: interrupted.newest_checkpoint >= least)  # type: ignore[misc]
        os.kill(child, number)
        exit_code(child)
    assert interrupted.run() == 0
    assert len(interrupted.resumed_steps) == 2
    assert policy_bytes(interrupted.output) == policy_bytes(stopped.output)


def test_a_job_whose_loss_stays_higher_makes_all_of_its_updates(
    engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = create_job(tmp_path / "job", engine, datasets, base, updates=STOP_WINDOW + 2, stop_at_loss=0.0)
    assert job.run() == 0
    assert job.events_of("step")[-1]["step"] == STOP_WINDOW + 2
    settings = read_manifest(job.output)["settings"]
    assert isinstance(settings, dict)
    assert settings["stop_at_loss"] == 0.0


def test_no_job_ends_before_a_whole_window_of_updates() -> None:
    settings = parse_settings("rft", {"stop_at_loss": 1})
    assert isinstance(settings, SftSettings)
    assert not settings.is_enough([0.5] * (STOP_WINDOW - 1))
    assert settings.is_enough([9.0] + [0.5] * STOP_WINDOW)
    assert not settings.is_enough([0.5] + [1.1] * STOP_WINDOW)
