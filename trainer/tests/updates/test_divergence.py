"""When a loss has diverged, and what a job that diverges leaves behind."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.failures import EXIT_CODES, JobFailure
from coevolve_trainer.updates.divergence import CONSECUTIVE_UPDATES, DivergenceDetector
from job_folder import JobFolder


def stopped_at(losses: Sequence[float], *, nonnegative: bool = True) -> int | None:
    divergence = DivergenceDetector({}, nonnegative=nonnegative)
    for step, loss in enumerate(losses, 1):
        try:
            divergence.check(step, loss, 1.0)
        except JobFailure:
            return step
    return None


def test_eight_updates_in_a_row_above_three_times_the_running_mean_are_the_end() -> None:
    assert stopped_at([2.0] * 20 + [6.1] * 30) == 20 + CONSECUTIVE_UPDATES


def test_seven_are_a_jump() -> None:
    assert stopped_at(([2.0] * 20 + [9.0] * (CONSECUTIVE_UPDATES - 1)) * 3) is None


def test_a_loss_below_that_of_the_first_update_never_diverges() -> None:
    assert stopped_at([2.0] + [0.001] * 200 + [1.9] * 50) is None


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=60), st.floats(100.0, 1e6))
def test_nothing_that_stays_below_the_first_loss_is_stopped(losses: list[float], first: float) -> None:
    assert stopped_at([first, *losses]) is None


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_loss_that_is_not_finite_ends_at_once(loss: float, nonnegative: bool) -> None:
    assert stopped_at([1.0, loss], nonnegative=nonnegative) == 2


def test_a_surrogate_that_grows_is_no_divergence() -> None:
    assert stopped_at([0.001, *[50.0] * 50], nonnegative=False) is None


def test_a_job_that_diverges_keeps_the_checkpoint_from_before(
    tmp_path: Path, workshop: Path, trained: Path
) -> None:
    settings = {
        "epochs": 20,
        "learning_rate": 30.0,
        "schedule": "constant",
        "warmup_fraction": 1.0,  # so that the rate grows from little to far too much
        "checkpoint_every": 1,
        "log_every": 1,
    }
    job = JobFolder(
        tmp_path / "job", method="sft", base=trained, dataset=workshop / "experts.jsonl", settings=settings
    )
    assert job.run() == EXIT_CODES["diverged"]
    assert "the running mean" in job.status["failure"]["message"]
    losses = {event["step"]: event["loss"] for event in job.events if event["event"] == "step"}
    newest = max(int(path.name[5:]) for path in (job.folder / "checkpoints").glob("step-*"))
    assert newest == max(losses) - CONSECUTIVE_UPDATES + 1
    assert losses[newest] < 3 * losses[1]
    assert not job.output.exists()
