"""Runs one job directory to its end: lock, check, train, publish, report."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event

from .chat.encoder import ChatEncoder
from .data.dataset import Dataset, read_dataset, read_texts
from .failures import EXIT_CODES, JobFailure, as_job_failure, bad_input
from .files.atomic_files import fresh_directory, publish_directory
from .files.disk_space import require_room
from .files.policy_files import discard_damaged, read_manifest, verify_policy, write_manifest
from .job import Job, read_job, verify_inputs
from .process_group import Ranks, join
from .progress import Progress, Silent
from .settings import (
    ComputeSettings,
    DpoSettings,
    InitSettings,
    RftSettings,
    RlSettings,
    SftSettings,
    TargetSettings,
    TrainSettings,
)

ENDING_S = 60.0  # how long a process waits to be ended with its job's first one


def run_job(job_dir: Path, stop: Event) -> int:
    """Does the job in `job_dir`, or what is left of it; returns the exit code.

    Safe to start again at any time: a finished job succeeds at once, a killed one resumes, and a second
    process beside a running one leaves with `already-running` and touches nothing. Of several processes that
    torchrun started, each calls it: the first one holds the lock and tells of all.
    """
    lead = os.environ.get("RANK", "0") == "0"
    try:
        if lead:
            with _locked(job_dir):
                _report(job_dir, Progress(job_dir), stop)
        else:
            _report(job_dir, Silent(job_dir), stop)
        return 0
    except Exception as error:
        failure = as_job_failure(error)
        if failure.type == "internal":
            traceback.print_exc()
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]


def _report(job_dir: Path, progress: Progress, stop: Event) -> None:
    """Does the job and tells how it ended."""
    joined = False
    try:
        job = read_job(job_dir)
        with _joined(job, stop) as ranks:
            joined = True
            progress.succeeded(_policy_of(job, job_dir, progress, ranks, stop))
    except Exception as error:
        if isinstance(progress, Silent) and not joined:
            _wait_to_be_ended(stop)
        with suppress(OSError):  # the disk may be what is full
            progress.failed(as_job_failure(error))
        raise


def _policy_of(job: Job, job_dir: Path, progress: Progress, ranks: Ranks, stop: Event) -> str:
    """The hash of the job's policy: found finished, or made now."""
    settings = job.settings
    if not isinstance(settings, RlSettings):  # whose checkpoints tell what is finished
        finished = ranks.first(lambda: _finished(job, progress))
        if finished is not None:
            return finished
    ranks.first(lambda: _check(job, job_dir))
    if isinstance(settings, InitSettings):
        policy_hash, parameters = _initialise(job, settings)
        progress.update(parameters=parameters)
        return policy_hash
    data = _read(job, settings, progress) if isinstance(settings, TrainSettings) else None

    from .updates.dataset_job import run_dataset_job
    from .updates.rl_job import run_resident
    from .updates.trainer import Session

    session = Session(job, settings, job_dir, progress=progress, ranks=ranks, stop=stop)
    with session.watchdog.running():
        if isinstance(settings, RlSettings):
            return run_resident(session, settings)
        assert data is not None
        return run_dataset_job(session, settings, data)


def _check(job: Job, job_dir: Path) -> None:
    """Inputs against their hashes, and room for what is written; an adapter's size is not known yet."""
    verify_inputs(job)
    compute = job.settings
    whole = isinstance(compute, ComputeSettings) and compute.adapter == "none" and job.base is not None
    manifest = read_manifest(job.base) if whole and job.base is not None else {}
    trained = 0 if "model_hash" in manifest else manifest.get("parameters", 0)
    require_room(job, job_dir, trained if isinstance(trained, int) else 0)


def _finished(job: Job, progress: Progress) -> str | None:
    discard_damaged(job.output, progress.damaged, progress.promised)
    if not job.output.exists():
        return None
    policy_hash = verify_policy(job.output, field="output")
    manifest = read_manifest(job.output)
    for name, expected in job.facts().items():
        if manifest.get(name) != expected:
            raise bad_input(
                f"output: {name} of the policy in {job.output}", manifest.get(name), str(expected)
            )
    return policy_hash


def _initialise(job: Job, settings: InitSettings) -> tuple[str, int]:
    """Makes the tokenizer and the random weights; returns the policy's hash and how many weights it has."""
    import torch

    from .chat.tokenizer import train_tokenizer, write_tokenizer
    from .models.init_policy import create_model
    from .models.policy import parameter_count, save_model

    assert job.dataset is not None
    job.output.parent.mkdir(parents=True, exist_ok=True)
    staging = fresh_directory(job.output.with_name(f".{job.output.name}.staging"))
    tokenizer = train_tokenizer(read_texts(job.dataset), vocabulary_size=settings.vocabulary_size)
    write_tokenizer(tokenizer, staging, max_positions=settings.max_positions)
    encoder = ChatEncoder(tokenizer)
    torch.manual_seed(job.seed)
    model = create_model(
        settings,
        vocabulary_size=tokenizer.get_vocab_size(),
        pad_id=encoder.pad_id,
        end_id=encoder.end_id,
    )
    save_model(model, staging)
    parameters = parameter_count(model)
    policy_hash = write_manifest(staging, {**job.facts(), "parameters": parameters})
    publish_directory(staging, job.output)
    return policy_hash, parameters


def _read(job: Job, settings: TrainSettings, progress: Progress) -> Dataset:
    assert job.base is not None
    assert job.dataset is not None
    data = read_dataset(
        job.dataset,
        ChatEncoder.load(job.base),
        pairs=isinstance(settings, DpoSettings),
        demonstrations=isinstance(settings, SftSettings | TargetSettings),
        max_length=settings.max_length,
        pair_truncation=settings.pair_truncation if isinstance(settings, DpoSettings) else "none",
        success_reward=settings.success_reward if isinstance(settings, RftSettings) else 0.0,
    )
    progress.update(
        truncated=data.truncated,
        truncation=asdict(data.truncation),
        rejected=data.rejected,
        segments=data.segments,
        examples=len(data.examples),
    )
    return data


@contextmanager
def _locked(job_dir: Path) -> Iterator[None]:
    if not job_dir.is_dir():
        raise bad_input("job directory", f"no directory {job_dir}", "a directory with a job.json")
    with (job_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobFailure("already-running", f"another process works on {job_dir}") from None
        yield


@contextmanager
def _joined(job: Job, stop: Event) -> Iterator[Ranks]:
    """The other processes, from the meeting to the farewell.

    Until they have met, SIGTERM ends a process that is not the first: its wait cannot hear of anything else.
    """
    several = "RANK" in os.environ and os.environ["RANK"] != "0"
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL) if several else None
    if several and stop.is_set():  # by a signal that came before: the first one may be gone already
        raise JobFailure("cancelled", "stopped before the job's processes had met")
    ranks = join(job.settings)
    if several:
        signal.signal(signal.SIGTERM, handler)
    try:
        yield ranks
    finally:
        ranks.leave()


def _wait_to_be_ended(stop: Event) -> None:
    """The launcher ends all processes when one leaves. So the first one leaves first, which tells why; it may
    have done so, and we may have been told to end, before we wait."""
    stop.wait(ENDING_S)
