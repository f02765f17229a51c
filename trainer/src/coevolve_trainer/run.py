"""Runs one job directory to its end: lock, check, train, publish, report."""

from __future__ import annotations

import fcntl
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from .chat.encoder import ChatEncoder
from .data.dataset import read_dataset, read_texts
from .failures import EXIT_CODES, JobFailure, as_job_failure, bad_input
from .files.durable import fresh_directory, publish_directory, require_free_disk
from .files.policy_files import read_manifest, verify_policy, write_manifest
from .job import Job, read_job, verify_inputs
from .progress import Progress
from .settings import DpoSettings, InitSettings, RlSettings, SftSettings, TargetSettings, TrainSettings

WRITTEN_PER_WEIGHT = 12  # files of the weights' size: three checkpoints of 3, trainer state, and the output


def run_job(job_dir: Path, stop: Event) -> int:
    """Does the job in `job_dir`, or what is left of it; returns the exit code.

    Safe to start again at any time: a finished job succeeds at once, a killed one resumes, and a second
    process beside a running one leaves with `already-running` and touches nothing.
    """
    try:
        with _locked(job_dir):
            progress = Progress(job_dir)
            try:
                policy_hash = _policy_of(read_job(job_dir), job_dir, progress, stop)
            except Exception as error:
                with suppress(OSError):  # the disk may be what is full
                    progress.failed(as_job_failure(error))
                raise
            progress.succeeded(policy_hash)
            return 0
    except Exception as error:
        failure = as_job_failure(error)
        if failure.type == "internal":
            traceback.print_exc()
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]


def _policy_of(job: Job, job_dir: Path, progress: Progress, stop: Event) -> str:
    """The hash of the job's policy: found finished, or made now."""
    resident = isinstance(job.settings, RlSettings)  # its checkpoints tell what is finished
    if job.output.exists() and not resident:
        return _finished(job)
    verify_inputs(job)
    weights = job.base / "model.safetensors" if job.base else None
    per_weight = (WRITTEN_PER_WEIGHT + job.steps) * weights.stat().st_size if weights else 0
    require_free_disk(job_dir, per_weight + job.settings.reserve_disk_bytes)
    if isinstance(job.settings, RlSettings):
        from .updates.resident import run_resident

        return run_resident(job, job.settings, job_dir, progress, stop)
    job.output.parent.mkdir(parents=True, exist_ok=True)
    staging = fresh_directory(job.output.with_name(f".{job.output.name}.staging"))
    if isinstance(job.settings, InitSettings):
        parameters = _initialise(job, job.settings, staging)
    else:
        parameters = _train(job, job.settings, staging, job_dir, progress, stop)
    policy_hash = write_manifest(staging, {**job.facts(), "parameters": parameters})
    publish_directory(staging, job.output)
    progress.update(parameters=parameters)
    return policy_hash


def _finished(job: Job) -> str:
    policy_hash = verify_policy(job.output, field="output")
    manifest = read_manifest(job.output)
    for name, expected in job.facts().items():
        if manifest.get(name) != expected:
            raise bad_input(
                f"output: {name} of the policy in {job.output}", manifest.get(name), str(expected)
            )
    return policy_hash


def _initialise(job: Job, settings: InitSettings, staging: Path) -> int:
    import torch

    from .chat.tokenizer import train_tokenizer, write_tokenizer
    from .models.decoder import create_model, parameter_count, save_model

    assert job.dataset is not None
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
    return parameter_count(model)


def _train(
    job: Job, settings: TrainSettings, staging: Path, job_dir: Path, progress: Progress, stop: Event
) -> int:
    assert job.base is not None
    assert job.dataset is not None
    encoder = ChatEncoder.load(job.base)
    data = read_dataset(
        job.dataset,
        encoder,
        pairs=isinstance(settings, DpoSettings),
        demonstrations=isinstance(settings, SftSettings | TargetSettings),
        max_length=settings.max_length,
    )
    progress.update(truncated=data.truncated, segments=data.segments, examples=len(data.examples))

    import torch

    from .data.batches import row_length
    from .models.decoder import load_model, parameter_count, save_trained
    from .updates.objectives import pair_objective, sft_objective
    from .updates.reference import reference_logprobs
    from .updates.train import train

    torch.use_deterministic_algorithms(True)
    torch.manual_seed(job.seed)
    if isinstance(settings, DpoSettings):
        assert job.reference is not None
        cache = job_dir / "reference-logprobs.safetensors"
        reference = reference_logprobs(cache, job.identity(), job.reference, data.examples, encoder.pad_id)
        objective = pair_objective(data.examples, encoder.pad_id, reference, settings)
    else:
        objective = sft_objective(data.examples, encoder.pad_id)
    checkpoints = job_dir / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    model = load_model(job.base)
    train(
        model,
        objective,
        [row_length(example) for example in data.examples],
        settings,
        seed=job.seed,
        checkpoints=checkpoints,
        job=job.identity(),
        progress=progress,
        stop=stop,
    )
    save_trained(model, job.base, staging)
    return parameter_count(model)


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
