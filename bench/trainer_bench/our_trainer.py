"""Our trainer: runs a whole job with the function that the command line calls."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.progress import Progress
from coevolve_trainer.run import run_job
from coevolve_trainer.updates import train_state

from .measure import Clock, Instant, measurement
from .request import Measurement, Request
from .rows import read_examples, token_count


def train(request: Request) -> Measurement:
    """Runs the job in this process; raises `RuntimeError` with the job's failure."""
    folder = _write_job(request)
    timer = _TrainingTimer()
    if run_job(folder, Event()) != 0:
        failure = json.loads((folder / "status.json").read_text())["failure"]
        raise RuntimeError(f"{failure['type']}: {failure['message']}")
    lines = (folder / "progress.jsonl").read_text().splitlines()
    losses = [event["loss"] for event in map(json.loads, lines) if event["event"] == "step"]
    tokens = token_count(read_examples(Path(request.pairs))) * request.epochs
    return measurement(timer.elapsed, tokens, losses)


class _TrainingTimer:
    """Measures from the end of reading the rows to the last update, without loading weights."""

    def __init__(self) -> None:
        self.elapsed = Instant(0.0, 0.0)
        self._clock = Clock()
        progress_class: Any = Progress
        loader: Any = train_state
        update_status, log_event = progress_class.update_status, progress_class.log_event
        load_policy = loader.load_policy

        def timed_update_status(progress: Progress, **fields: object) -> None:
            if fields.get("segments"):
                self._clock.start()
            update_status(progress, **fields)

        def timed_log_event(progress: Progress, name: str, **fields: object) -> None:
            log_event(progress, name, **fields)
            if name == "step":
                self._clock.stop()
                self.elapsed = self._clock.elapsed
                self._clock.start()

        def untimed_load_policy(*arguments: Any, **named: Any) -> Any:
            self._clock.stop()
            model = load_policy(*arguments, **named)
            self._clock.start()
            return model

        progress_class.update_status, progress_class.log_event = timed_update_status, timed_log_event
        loader.load_policy = untimed_load_policy


def _write_job(request: Request) -> Path:
    folder, policy, dataset = Path(request.work) / "job", Path(request.policy), Path(request.dataset)
    folder.mkdir()
    settings = {
        "epochs": request.epochs,
        "batch_size": request.batch_size,
        "micro_batch_tokens": request.micro_batch_tokens,
        "learning_rate": request.learning_rate,
        "schedule": "constant",
        "warmup_fraction": 0.0,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "max_length": request.max_length,
        "adapter": request.adapter,
        "precision": request.precision,
        "device": request.device,
        "engine": request.engine,
        "threads": request.threads,
        "log_every": 1,
        "checkpoint_every": 10**9,
        "reserve_disk_bytes": 0,
    }
    if request.method == "dpo":
        settings["beta"] = request.beta
    job = {
        "job_key": f"bench/{request.method}",
        "method": request.method,
        "base": str(policy),
        "base_hash": sha256_of_file(policy / "manifest.json"),
        "dataset": str(dataset),
        "dataset_sha256": sha256_of_file(dataset),
        "output": str(folder / "policy"),
        "seed": request.seed,
        "settings": settings,
    }
    (folder / "job.json").write_text(json.dumps(job))
    return folder
