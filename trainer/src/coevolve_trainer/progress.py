"""What a watcher sees of a job: progress.jsonl, line by line, and status.json, whole at any moment."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from .failures import JobFailure
from .files.atomic_files import canonical_json, write_atomically

OTHER = ".failure-of-another.json"  # the first failure of a process that is not the first one
NEWEST = (  # what status.json repeats of the newest `step` line
    "step",
    "total_steps",
    "epoch",
    "loss",
    "grad_norm",
    "margin",
    "accuracy",
    "chosen_logp",
    "rejected_logp",
    "learning_rate",
    "tokens",
    "tokens_per_s",
    "memory_bytes",
    "eta_s",
    "mfu",
    "micro_batch_tokens",
)


class Clock:
    """Seconds of work on a job, over all processes that resumed one another."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.earlier_seconds = 0.0
        """Seconds that earlier processes spent on what this one resumed."""

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self._began

    def waited(self, seconds: float) -> None:
        """Takes time that a resident job spent without a batch out of the seconds of work."""
        self._began += seconds


class Progress(Clock):
    """Reports one process's work on one job."""

    def __init__(self, job_dir: Path) -> None:
        super().__init__()
        self._status_path, self._other_path = job_dir / "status.json", job_dir / OTHER
        self._other_path.unlink(missing_ok=True)
        self.promised = _promised(self._status_path)
        """The hash of the policy that an earlier process of this job ended with, if one did."""
        self._lines_path = job_dir / "progress.jsonl"
        self._lines: Any = None
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

    def update(self, **facts: object) -> None:
        """Rewrites status.json with these facts and the time spent so far."""
        self._status |= {**facts, "seconds": round(self.seconds, 3)}
        # No sync: a watcher that reads after a power loss finds no running process either way
        write_atomically(self._status_path, canonical_json(self._status), sync=False)

    def event(self, event: str, **facts: object) -> None:
        """Adds a line to progress.jsonl."""
        if self._lines is None:
            self._lines = self._lines_path.open("a", encoding="utf-8", buffering=1)
            if not ends_whole(
                self._lines_path
            ):  # a killed process left half a line, which is not ours to go on
                self._lines.write("\n")
        self._lines.write(json.dumps({"event": event, **facts}) + "\n")

    def damaged(self, fault: str) -> None:
        """Says what was found damaged, in the log too: it is made again."""
        self.event("damaged", fault=fault)
        print(f"damaged: {fault}", file=sys.stderr, flush=True)

    def stepped(self, **facts: object) -> None:
        """Tells of an update in both places."""
        self.event("step", **facts)
        self.update(**{name: facts[name] for name in NEWEST if name in facts})

    def succeeded(self, policy_hash: str) -> None:
        self.update(state="succeeded", policy_hash=policy_hash)

    def failed(self, failure: JobFailure) -> None:
        """Tells of the failure, or of another process's: what failed here may be but its echo."""
        told = {"type": failure.type, "message": failure.message}
        with suppress(FileNotFoundError, ValueError):
            told = json.loads(self._other_path.read_bytes())
        self.update(state="failed", failure=told)


def ends_whole(lines: Path) -> bool:
    """Whether the last line has its end; an empty file has no line that lacks it, and a pipe keeps none."""
    with lines.open("rb") as file:
        if not file.seekable() or file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _promised(status: Path) -> str | None:
    try:
        promised = json.loads(status.read_bytes())["policy_hash"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return promised if isinstance(promised, str) else None


class Silent(Progress):
    """A process that is not its job's first: it keeps time, and writes nothing but its own failure."""

    def __init__(self, job_dir: Path) -> None:
        Clock.__init__(self)
        self.promised = None
        self._status_path, self._other_path = job_dir / "status.json", job_dir / OTHER

    def update(self, **facts: object) -> None:
        pass

    def event(self, event: str, **facts: object) -> None:
        pass

    def failed(self, failure: JobFailure) -> None:
        """Tells of the failure in the first process's name, which may hang or die of it without a word.

        And leaves it for the first process to find, which may write once more before it ends.
        """
        told = {"type": failure.type, "message": failure.message}
        write_atomically(self._other_path, canonical_json(told), sync=False)
        with suppress(FileNotFoundError, ValueError):  # damaged: the first process writes another
            status = json.loads(self._status_path.read_bytes())
            if status["state"] == "running":
                status |= {"state": "failed", "failure": told}
                write_atomically(self._status_path, canonical_json(status), writer="another")
