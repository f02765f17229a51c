"""The removal of old checkpoints, and the commands that pin one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.updates.retention import pin, remove_old_checkpoints, unpin
from job_folder import SOURCES, JobFolder


def kept_steps(job_dir: Path) -> list[int]:
    return sorted(int(path.name[5:]) for path in (job_dir / "checkpoints").glob("step-*"))


def add_checkpoint(job_dir: Path, step: int, mean_loss: float, job: str = "this") -> bool:
    """Adds the files of a checkpoint that the removal reads; returns whether it is the best."""
    folder = job_dir / "checkpoints" / f"step-{step:06d}"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps({"mean_loss": mean_loss}))
    (folder / "manifest.json").write_text(json.dumps({"job": job}))
    return remove_old_checkpoints(folder.parent, folder)


def test_the_newest_two_and_the_best_checkpoint_are_kept(tmp_path: Path) -> None:
    losses = {1: 3.0, 2: 1.0, 3: 2.0, 4: 2.0, 5: 1.5, 6: 0.5, 7: 4.0, 8: 4.0, 9: 4.0}
    is_best = [add_checkpoint(tmp_path, step, loss) for step, loss in losses.items()]
    assert kept_steps(tmp_path) == [6, 8, 9]
    assert [step for step, best in zip(losses, is_best, strict=True) if best] == [1, 2, 6]


def test_a_pinned_checkpoint_is_kept_until_it_is_unpinned(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        add_checkpoint(tmp_path, step, 1.0 / step)
    pin(tmp_path, 2)
    for step in (4, 5, 6):
        add_checkpoint(tmp_path, step, 1.0 / step)
    assert kept_steps(tmp_path) == [2, 5, 6]
    unpin(tmp_path, 2)
    add_checkpoint(tmp_path, 7, 0.1)
    assert kept_steps(tmp_path) == [6, 7]


def test_checkpoints_of_an_earlier_job_in_the_folder_are_removed(tmp_path: Path) -> None:
    for step in (10, 20):
        add_checkpoint(tmp_path, step, 0.01, job="other settings")
    assert add_checkpoint(tmp_path, 5, 2.0)
    assert kept_steps(tmp_path) == [5]


def run_command(command: str, job: JobFolder, step: int) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "coevolve_trainer", command, str(job.folder), str(step)]
    return subprocess.run(arguments, env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True)


def test_the_commands_pin_and_unpin_a_checkpoint_of_a_real_job(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    settings: dict[str, Any] = {"epochs": 1, "checkpoint_every": 2}
    job = JobFolder(
        tmp_path / "job", method="sft", base=base, dataset=datasets / "experts.jsonl", settings=settings
    )
    assert job.run() == 0
    assert job.checkpoint_steps == [4, 6]
    assert run_command("pin", job, 4).returncode == 0
    rejected = run_command("pin", job, 3)
    assert rejected.returncode == EXIT_CODES["bad-input"]
    assert "step: found 3, expected one of the checkpoints [4, 6]" in rejected.stderr
    assert run_command("unpin", job, 4).returncode == 0
    assert "expected one of the pinned []" in run_command("unpin", job, 4).stderr


@pytest.mark.parametrize("step", [1, 9])
def test_pinning_a_missing_checkpoint_leaves_no_pin(step: int, tmp_path: Path) -> None:
    add_checkpoint(tmp_path, 4, 1.0)
    with pytest.raises(Exception, match=r"expected one of the checkpoints \[4\]"):
        pin(tmp_path, step)
    assert not list((tmp_path / "pins").iterdir())
