"""What a watcher sees of a job: progress.jsonl, line by line, and status.json, whole at any moment."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import psutil

from .failures import JobFailure
from .files.durable import canonical_json, write_atomically


class Progress:
    """Reports one process's work on one job."""

    def __init__(self, job_dir: Path) -> None:
        self._status_path = job_dir / "status.json"
        self._lines = (job_dir / "progress.jsonl").open("a", encoding="utf-8", buffering=1)
        self._began = time.monotonic()
        self.earlier_seconds = 0.0
        """Seconds that earlier processes spent on what this one resumed."""
        self._status: dict[str, Any] = {
            "state": "running",
            "pid": os.getpid(),
            "start_time": psutil.Process().create_time(),
            "step": 0,
            "total_steps": 0,
            "failure": None,
            "policy_hash": None,
            "tokens": 0,
            "seconds": 0.0,
            "truncated": 0,
            "segments": 0,
        }
        self.update()

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self._began

    def waited(self, seconds: float) -> None:
        """Takes time that a resident job spent without a batch out of the seconds of work."""
        self._began += seconds

    def update(self, **facts: object) -> None:
        """Rewrites status.json with these facts and the time spent so far."""
        self._status |= {**facts, "seconds": round(self.seconds, 3)}
        # No sync: a watcher that reads after a power loss finds no running process either way
        write_atomically(self._status_path, canonical_json(self._status), sync=False)

    def event(self, event: str, **facts: object) -> None:
        self._lines.write(json.dumps({"event": event, **facts}) + "\n")

    def succeeded(self, policy_hash: str) -> None:
        self.update(state="succeeded", policy_hash=policy_hash)

    def failed(self, failure: JobFailure) -> None:
        self.update(state="failed", failure={"type": failure.type, "message": failure.message})
