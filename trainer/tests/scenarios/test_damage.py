"""Jobs whose files were truncated, emptied, overwritten or lost while no process was running."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevolve_trainer.engines import with_resolved_engine
from coevolve_trainer.files.policy_files import verify_policy
from coevolve_trainer.job import read_job
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.updates.resume import read_newest_checkpoint
from file_damage import damage, damages
from job_folder import JobFolder, copy_of, policy_bytes

examples = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def finished_jobs(
    tmp_path_factory: pytest.TempPathFactory,
    datasets: Path,
    trained: Path,
    finished_rl_job: Callable[[str], JobFolder],
) -> dict[str, JobFolder]:
    """A job with pairs and a checkpoint after every third update; an RL job."""
    settings: dict[str, Any] = {"epochs": 4, "checkpoint_every": 3, "log_every": 1}
    folder, pairs = tmp_path_factory.mktemp("finished") / "job", datasets / "pairs.jsonl"
    job = JobFolder(folder, method="target", base=trained, dataset=pairs, settings=settings)
    assert job.run() == 0
    return {"target": job, "grpo": finished_rl_job("grpo")}


@examples
@given(data=st.data())
def test_the_newest_intact_checkpoint_is_read_and_damaged_newer_ones_are_reported(
    data: st.DataObject, finished_jobs: dict[str, JobFolder]
) -> None:
    with copy_of(finished_jobs["target"]) as job:
        folder = job.folder / "checkpoints"
        newest_first = sorted(folder.iterdir(), reverse=True)
        assert len(newest_first) >= 2
        staging = newest_first[0].name.replace("step", ".staging")  # as a killed process leaves it
        shutil.copytree(newest_first[0], folder / staging)
        damaged = set()
        for file in data.draw(st.lists(st.sampled_from(files_below(folder)), max_size=4, unique=True)):
            if damage(file, *data.draw(damages)):
                damaged.add(file.parent)
        reports: list[str] = []
        key = with_resolved_engine(read_job(job.folder)).checkpoint_key()
        found = read_newest_checkpoint(folder, key, ProcessGroup(), reports.append)
        intact = [path for path in newest_first if path not in damaged]
        assert (found and found.cursor.step) == (int(intact[0].name[5:]) if intact else None)
        skipped = newest_first[: newest_first.index(intact[0])] if intact else newest_first
        assert [report.split(":")[0] for report in reports] == [str(path) for path in skipped]
        assert not (folder / staging).exists()


@pytest.mark.parametrize("method", ["target", "grpo"])
@settings(examples, max_examples=12)
@given(data=st.data())
def test_a_job_with_damaged_files_makes_the_same_policy_again(
    method: str, data: st.DataObject, finished_jobs: dict[str, JobFolder]
) -> None:
    before = finished_jobs[method]
    with copy_of(before) as job:
        files = [file for file in files_below(job.folder) if is_output(file.relative_to(job.folder))]
        for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=5, unique=True)):
            kind, seed = data.draw(damages)
            damage(file, kind, seed)
        assert job.run() == 0, job.failure
        assert policy_bytes(job.output) == policy_bytes(before.output)
        assert job.status["policy_hash"] == verify_policy(job.output) == before.status["policy_hash"]
        if method == "grpo":
            assert job.policy_hashes == before.policy_hashes
            assert verify_policy(job.folder / "policies" / "step-000003") == before.policy_hashes[-1]
            assert job.status["trainer_state_sha256"] == before.status["trainer_state_sha256"]


def test_damage_is_reported_in_the_progress_and_in_the_log(
    finished_jobs: dict[str, JobFolder], capfd: pytest.CaptureFixture[str]
) -> None:
    with copy_of(finished_jobs["target"]) as job:
        newest = max((job.folder / "checkpoints").iterdir())
        damage(newest / "model.safetensors", "truncated", 1)
        damage(job.output / "model.safetensors", "zeros at the end", 1)
        assert job.run() == 0
        output_fault, checkpoint_fault = (event["fault"] for event in job.events_of("damaged"))
        assert str(job.output) in output_fault
        assert str(newest) in checkpoint_fault
        log = capfd.readouterr().err
        assert f"damaged: {output_fault}" in log
        assert f"damaged: {checkpoint_fault}" in log
        (resumed,) = job.resumed_steps
        assert resumed < int(newest.name[5:])


def test_half_a_progress_line_of_a_killed_process_does_not_corrupt_the_next_line(
    finished_jobs: dict[str, JobFolder],
) -> None:
    with copy_of(finished_jobs["target"]) as job:
        progress = job.folder / "progress.jsonl"
        progress.write_bytes(progress.read_bytes()[:-9])
        shutil.rmtree(job.output)
        assert job.run() == 0
        lines = progress.read_text().splitlines()
        assert json.loads(lines[-1])["event"] in ("resumed", "checkpoint")
        assert len([line for line in lines if not line.endswith("}")]) == 1


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_output(file: Path) -> bool:
    """Returns whether the trainer writes the file; the caller writes damaged inputs again."""
    is_batch = file.parts[0] == "batches" or file.name.startswith("rows-")
    # The caller has fetched the policies of earlier updates
    is_fetched = file.parts[0] == "policies" and file.parts[1] != "step-000003"
    return not is_batch and not is_fetched and file.name not in ("job.json", "lock")
