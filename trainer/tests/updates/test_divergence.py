"""The divergence detector, and the checkpoint of a job that diverges."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.failures import EXIT_CODES, JobFailure
from coevolve_trainer.updates.divergence import CONSECUTIVE_UPDATES, DivergenceDetector
from job_folder import JobFolder


def diverged_at(losses: Sequence[float], *, nonnegative: bool = True) -> int | None:
    detector = DivergenceDetector({}, nonnegative=nonnegative)
    for step, loss in enumerate(losses, 1):
        try:
            detector.check(step, loss, 1.0)
        except JobFailure:
            return step
    return None


def test_eight_consecutive_updates_above_three_times_the_running_mean_are_divergence() -> None:
    assert diverged_at([2.0] * 20 + [6.1] * 30) == 20 + CONSECUTIVE_UPDATES


def test_seven_consecutive_updates_are_no_divergence() -> None:
    assert diverged_at(([2.0] * 20 + [9.0] * (CONSECUTIVE_UPDATES - 1)) * 3) is None


def test_a_loss_below_that_of_the_first_update_is_no_divergence() -> None:
    assert diverged_at([2.0] + [0.001] * 200 + [1.9] * 50) is None


def test_losses_below_that_of_an_untrained_preference_are_no_divergence() -> None:
    assert diverged_at([0.001] * 20 + [0.69] * 50) is None
    assert diverged_at([0.001] * 20 + [0.70] * 50) == 20 + CONSECUTIVE_UPDATES


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=60), st.floats(100.0, 1e6))
def test_no_sequence_below_the_first_loss_is_divergence(losses: list[float], first: float) -> None:
    assert diverged_at([first, *losses]) is None


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_loss_that_is_not_finite_is_divergence(loss: float, nonnegative: bool) -> None:
    assert diverged_at([1.0, loss], nonnegative=nonnegative) == 2


def test_a_growing_loss_that_may_be_negative_is_no_divergence() -> None:
    assert diverged_at([0.001, *[50.0] * 50], nonnegative=False) is None


def test_a_diverging_job_keeps_the_checkpoint_before_the_divergence(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    settings = {
        "epochs": 20,
        "learning_rate": 30.0,
        "schedule": "constant",
        "warmup_fraction": 1.0,  # the rate grows until it is far too high
        "checkpoint_every": 1,
        "log_every": 1,
    }
    job = JobFolder(
        tmp_path / "job", method="sft", base=trained, dataset=datasets / "experts.jsonl", settings=settings
    )
    assert job.run() == EXIT_CODES["diverged"]
    assert "the running mean" in job.failure["message"]
    losses = {event["step"]: event["loss"] for event in job.events_of("step")}
    assert job.newest_checkpoint == max(losses) - CONSECUTIVE_UPDATES + 1
    assert losses[job.newest_checkpoint] < 3 * losses[1]
    assert not job.output.exists()
