"""Our trainer: a whole job, through the door that the service uses."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.progress import Progress
from coevolve_trainer.run import run_job
from coevolve_trainer.updates import train_state

from .measure import Clock, Instant, measured
from .request import Measurement, Request
from .rows import read_examples, tokens_of


def train(request: Request) -> Measurement:
    """Runs the job in this process; raises `RuntimeError` with the job's failure when it does not succeed."""
    folder = _job(request)
    watch = _Watch()
    if run_job(folder, Event()) != 0:
        failure = json.loads((folder / "status.json").read_text())["failure"]
        raise RuntimeError(f"{failure['type']}: {failure['message']}")
    lines = (folder / "progress.jsonl").read_text().splitlines()
    losses = [event["loss"] for event in map(json.loads, lines) if event["event"] == "step"]
    tokens = tokens_of(read_examples(Path(request.pairs))) * request.epochs
    return measured(watch.spent, tokens, losses)


class _Watch:
    """Counts from the moment when the job has its rows to its last update, loading weights left out."""

    def __init__(self) -> None:
        self.spent = Instant(0.0, 0.0)
        self._clock = Clock()
        watched: Any = Progress
        loading: Any = train_state
        update, event, load = watched.update_status, watched.log_event, loading.load_policy

        def timed_update(progress: Progress, **facts: object) -> None:
            if facts.get("segments"):
                self._clock.start()
            update(progress, **facts)

        def timed_event(progress: Progress, name: str, **facts: object) -> None:
            event(progress, name, **facts)
            if name == "step":
                self._clock.stop()
                self.spent = self._clock.spent
                self._clock.start()

        def untimed_load(*arguments: Any, **named: Any) -> Any:
            self._clock.stop()
            model = load(*arguments, **named)
            self._clock.start()
            return model

        watched.update_status, watched.log_event = timed_update, timed_event
        loading.load_policy = untimed_load


def _job(request: Request) -> Path:
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
