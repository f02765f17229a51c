"""Jobs whose files were cut, emptied, filled with garbage or lost while no process ran."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_jobs import bytes_of
from test_rl_jobs import hashes

from coevolve_trainer.files.policy_files import verify_policy
from coevolve_trainer.job import read_job
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.updates.resume import read_newest_checkpoint
from damage import damage, damages
from job_folder import JobFolder

examples = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Copied(JobFolder):
    """A copy of a job's folder, whose output is its own."""

    def __init__(self, of: JobFolder, folder: Path) -> None:
        shutil.copytree(of.folder, folder)
        self.folder, self.output = folder, folder / "policy"
        job = json.loads((folder / "job.json").read_text())
        (folder / "job.json").write_text(json.dumps(job | {"output": str(self.output)}))


@contextmanager
def copy_of(job: JobFolder) -> Iterator[Copied]:
    with tempfile.TemporaryDirectory() as folder:
        yield Copied(job, Path(folder) / "job")


@pytest.fixture(scope="module")
def ended(
    tmp_path_factory: pytest.TempPathFactory,
    workshop: Path,
    trained: Path,
    finished: Callable[[str], JobFolder],
) -> dict[str, JobFolder]:
    """A job with pairs that made a checkpoint after every third update; a resident job."""
    settings: dict[str, Any] = {"epochs": 4, "checkpoint_every": 3, "log_every": 1}
    folder, pairs = tmp_path_factory.mktemp("ended") / "job", workshop / "pairs.jsonl"
    job = JobFolder(folder, method="target", base=trained, dataset=pairs, settings=settings)
    assert job.run() == 0
    return {"target": job, "grpo": finished("grpo")}


@examples
@given(data=st.data())
def test_the_newest_checkpoint_of_which_nothing_is_damaged_is_taken_and_the_others_are_named(
    data: st.DataObject, ended: dict[str, JobFolder]
) -> None:
    with copy_of(ended["target"]) as job:
        folder = job.folder / "checkpoints"
        newest_first = sorted(folder.iterdir(), reverse=True)
        assert len(newest_first) >= 2
        half = newest_first[0].name.replace("step", ".staging")  # the machine died while it was staged
        shutil.copytree(newest_first[0], folder / half)
        hit = set()
        for file in data.draw(st.lists(st.sampled_from(files_below(folder)), max_size=4, unique=True)):
            if damage(file, *data.draw(damages)):
                hit.add(file.parent)
        told: list[str] = []
        found = read_newest_checkpoint(
            folder, read_job(job.folder).checkpoint_key(), ProcessGroup(), told.append
        )
        whole = [path for path in newest_first if path not in hit]
        assert (found and found.cursor.step) == (int(whole[0].name[5:]) if whole else None)
        passed_over = newest_first[: newest_first.index(whole[0])] if whole else newest_first
        assert [line.split(":")[0] for line in told] == [str(path) for path in passed_over]
        assert not (folder / half).exists()


@pytest.mark.parametrize("method", ["target", "grpo"])
@settings(examples, max_examples=12)
@given(data=st.data())
def test_a_job_whose_files_were_damaged_makes_its_policy_again_to_the_same_bytes(
    method: str, data: st.DataObject, ended: dict[str, JobFolder]
) -> None:
    before = ended[method]
    with copy_of(before) as job:
        ours = [file for file in files_below(job.folder) if is_of_trainer(file.relative_to(job.folder))]
        for file in data.draw(st.lists(st.sampled_from(ours), min_size=1, max_size=5, unique=True)):
            kind, seed = data.draw(damages)
            damage(file, kind, seed)
        assert job.run() == 0, job.status["failure"]
        assert bytes_of(job.output) == bytes_of(before.output)
        assert job.status["policy_hash"] == verify_policy(job.output) == before.status["policy_hash"]
        if method == "grpo":
            assert hashes(job) == hashes(before)
            assert verify_policy(job.folder / "policies" / "step-000003") == hashes(before)[-1]
            assert job.status["trainer_state_sha256"] == before.status["trainer_state_sha256"]


def test_what_was_found_damaged_is_told_in_the_progress_and_the_log(
    ended: dict[str, JobFolder], capfd: pytest.CaptureFixture[str]
) -> None:
    with copy_of(ended["target"]) as job:
        newest = max((job.folder / "checkpoints").iterdir())
        damage(newest / "model.safetensors", "cut", 1)
        damage(job.output / "model.safetensors", "zeros at the end", 1)
        assert job.run() == 0
        faults = [event["fault"] for event in job.events if event["event"] == "damaged"]
        assert [str(job.output) in faults[0], str(newest) in faults[1]] == [True, True]
        assert len(faults) == 2
        assert all(f"damaged: {fault}" in capfd.readouterr().err for fault in faults[:1])
        (resumed,) = (event["step"] for event in job.events if event["event"] == "resumed")
        assert resumed < int(newest.name[5:])


def test_a_line_that_a_killed_process_left_half_written_swallows_none_of_the_next_one(
    ended: dict[str, JobFolder],
) -> None:
    with copy_of(ended["target"]) as job:
        lines = job.folder / "progress.jsonl"
        lines.write_bytes(lines.read_bytes()[:-9])
        shutil.rmtree(job.output)
        assert job.run() == 0
        written = lines.read_text().splitlines()
        assert json.loads(written[-1])["event"] in ("resumed", "checkpoint")
        torn = [line for line in written if not line.endswith("}")]
        assert len(torn) == 1


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_of_trainer(file: Path) -> bool:
    """What a trainer writes itself: what it is told is written again by whoever submits the job."""
    told = file.name in ("job.json", "lock") or file.parts[0] == "batches" or file.name.startswith("rows-")
    # A policy of an earlier update has been fetched, or is made again when the job is
    return not told and not (file.parts[0] == "policies" and file.parts[1] != "step-000003")
