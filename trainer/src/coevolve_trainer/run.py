"""Runs one job directory to its end: locks it, verifies the inputs, trains, publishes, reports."""

from __future__ import annotations

import fcntl
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from .data.dataset import read_job_dataset
from .engines import with_resolved_engine
from .failures import EXIT_CODES, JobFailure, as_job_failure, bad_input
from .files.policy_files import read_manifest
from .job import Job, read_job, verify_inputs
from .launch import is_launched_as_rank_zero, joined_process_group
from .process_group import ProcessGroup
from .progress import PeerProgress, Progress
from .settings import ComputeSettings, InitSettings, RlSettings, TrainSettings
from .updates.job_space import require_space_for_job
from .updates.resume import find_finished_policy

EXIT_TIMEOUT_S = 60.0  # max wait of a rank for the exit of rank zero


def run_job(job_dir: Path, stop: Event) -> int:
    """Runs the job in `job_dir`, or the rest of it; returns the exit code.

    Can be repeated at any time: a finished job succeeds at once, a killed job resumes (updates/resume.py),
    and a second process on a running job exits with `already-running` and changes nothing. With torchrun each
    process calls this function; rank zero holds the lock and reports for all.
    """
    try:
        if is_launched_as_rank_zero():
            with _locked(job_dir):
                _run_and_report(job_dir, Progress(job_dir), stop)
        else:
            _run_and_report(job_dir, PeerProgress(job_dir), stop)
        return 0
    except Exception as error:
        failure = as_job_failure(error)
        if failure.type == "internal":
            traceback.print_exc()
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]


@contextmanager
def _locked(job_dir: Path) -> Iterator[None]:
    if not job_dir.is_dir():
        raise bad_input("job directory", f"no directory {job_dir}", "a directory with a job.json")
    with (job_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobFailure("already-running", f"another process runs the job in {job_dir}") from None
        yield


def _run_and_report(job_dir: Path, progress: Progress, stop: Event) -> None:
    joined = False
    try:
        job = with_resolved_engine(read_job(job_dir))
        with joined_process_group(job.settings, stop) as process_group:
            joined = True
            progress.report_success(_make_policy(job, job_dir, progress, process_group, stop))
    except Exception as error:
        if isinstance(progress, PeerProgress) and not joined:
            # The launcher kills all processes when one exits. Rank zero must exit first, because it reports
            # the failure; it may have done so already.
            stop.wait(EXIT_TIMEOUT_S)
        with suppress(OSError):  # the disk may be full
            progress.report_failure(as_job_failure(error))
        raise


def _make_policy(
    job: Job, job_dir: Path, progress: Progress, process_group: ProcessGroup, stop: Event
) -> str:
    """Returns the hash of the job's policy, after training it if it is not finished."""
    settings = job.settings
    if not isinstance(settings, RlSettings):  # the checkpoints of an RL job record whether it is finished
        finished = process_group.on_rank_zero(lambda: find_finished_policy(job, progress))
        if finished is not None:
            return finished
    process_group.on_rank_zero(lambda: _verify_inputs_and_space(job, job_dir))
    if isinstance(settings, InitSettings):
        from .models.init_policy import init_policy

        policy_hash, parameters = init_policy(job, settings)
        progress.update_status(parameters=parameters)
        return policy_hash
    data = read_job_dataset(job, settings) if isinstance(settings, TrainSettings) else None
    if data is not None:
        progress.update_status(**data.status_fields())

    # The imports below load torch, which a job with a wrong input should not wait for
    if isinstance(settings, TrainSettings) and settings.engine == "trl":
        from .trl_engine.callback import JobContext
        from .trl_engine.run import run_trl_job

        assert data is not None
        return run_trl_job(JobContext(job, settings, job_dir, progress, process_group, stop), data)
    from .updates.dataset_job import run_dataset_job
    from .updates.rl_job import run_rl_job
    from .updates.trainer import Trainer

    trainer = Trainer(job, settings, job_dir, progress=progress, process_group=process_group, stop=stop)
    with trainer.running():
        resolved = trainer.settings
        if isinstance(resolved, RlSettings):
            return run_rl_job(trainer, resolved)
        assert data is not None
        return run_dataset_job(trainer, resolved, data)


def _verify_inputs_and_space(job: Job, job_dir: Path) -> None:
    """Verifies the inputs, and the disk space unless the number of trained weights is unknown (adapters)."""
    verify_inputs(job)
    settings = job.settings
    trains_all_weights = isinstance(settings, ComputeSettings) and settings.adapter == "none"
    manifest = read_manifest(job.base) if trains_all_weights and job.base is not None else {}
    trained = 0 if "model_hash" in manifest else manifest.get("parameters", 0)
    require_space_for_job(job, job_dir, trained if isinstance(trained, int) else 0)
