"""The observable state of a job: progress.jsonl, one line per event, and status.json, always complete."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from .failures import JobFailure
from .files.atomic_files import canonical_json, write_atomically

PEER_FAILURE = ".failure-of-another.json"  # the first failure of a rank other than zero
STATUS_METRICS = (  # numbers of the newest `step` line that status.json repeats
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


#: Fields of status.json that describe one process or its end; a resumed job keeps all others.
OWN_FIELDS = ("state", "pid", "start_time", "failure", "policy_hash", "policies", "trainer_state_sha256")
#: All fields of status.json.
STATUS_FIELDS = (
    *OWN_FIELDS,
    *STATUS_METRICS,
    "seconds",
    "truncated",
    "truncation",
    "segments",
    "rejected",
    "examples",
    "parameters",
    "trainable_parameters",
    "gradient_checkpointing",
    "device",
    "precision",
    "engine",
    "kernels",
    "sharding",
    "processes",
)


class WorkClock:
    """Seconds of work on a job, summed over all processes that resumed it."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.earlier_seconds = 0.0
        """Seconds of the processes from which this one resumed."""

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self._started

    def exclude(self, seconds: float) -> None:
        """Subtracts the time for which an RL job waited for a batch."""
        self._started += seconds


class Progress(WorkClock):
    """Reports the work of rank zero."""

    def __init__(self, job_dir: Path) -> None:
        super().__init__()
        self._status_path, self._peer_failure_path = job_dir / "status.json", job_dir / PEER_FAILURE
        self._peer_failure_path.unlink(missing_ok=True)
        earlier = _read_status(self._status_path)
        policy_hash = earlier.get("policy_hash")
        self.finished_policy_hash = policy_hash if isinstance(policy_hash, str) else None
        """Hash of the policy with which an earlier process finished this job, if one did."""
        seconds = earlier.get("seconds")
        self.earlier_seconds = seconds if isinstance(seconds, int | float) else 0.0
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
            **{name: value for name, value in earlier.items() if name not in OWN_FIELDS},
        }
        self.update_status()

    def update_status(self, **fields: object) -> None:
        """Rewrites status.json with these fields and the seconds of work so far."""
        assert fields.keys() <= set(STATUS_FIELDS), fields.keys() - set(STATUS_FIELDS)
        self._status |= fields
        self._write_status(sync=False)  # after a power loss no process runs, whatever status.json holds

    def secure_totals(self) -> None:
        """Call before publishing: a process that finds the finished policy reports the totals of this one."""
        self._write_status(sync=True)

    def _write_status(self, *, sync: bool) -> None:
        self._status["seconds"] = round(self.seconds, 3)
        write_atomically(self._status_path, canonical_json(self._status), sync=sync)

    def log_event(self, event: str, **fields: object) -> None:
        """Appends a line with the time to progress.jsonl."""
        if self._lines is None:
            self._lines = self._lines_path.open("a", encoding="utf-8", buffering=1)
            if not _ends_with_newline(self._lines_path):  # a killed process wrote half a line
                self._lines.write("\n")
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.write(json.dumps({"event": event, "time": now, **fields}) + "\n")

    def log_damage(self, fault: str) -> None:
        """Logs a damaged checkpoint or output, which the job makes again; also to stderr."""
        self.log_event("damaged", fault=fault)
        print(f"damaged: {fault}", file=sys.stderr, flush=True)

    def log_step(self, **fields: object) -> None:
        """Reports an update in both files."""
        self.log_event("step", **fields)
        self.update_status(**{name: fields[name] for name in STATUS_METRICS if name in fields})

    def report_success(self, policy_hash: str) -> None:
        self.update_status(state="succeeded", policy_hash=policy_hash)

    def report_failure(self, failure: JobFailure) -> None:
        """Reports the failure, or another rank's failure, of which this one may be a consequence."""
        fields = failure.fields()
        with suppress(FileNotFoundError, ValueError):
            fields = json.loads(self._peer_failure_path.read_bytes())
        self.update_status(state="failed", failure=fields)


class PeerProgress(Progress):
    """Progress of a rank other than zero: it measures time and writes nothing but its failure."""

    def __init__(self, job_dir: Path) -> None:
        WorkClock.__init__(self)
        self.finished_policy_hash = None
        self._status_path, self._peer_failure_path = job_dir / "status.json", job_dir / PEER_FAILURE

    def update_status(self, **fields: object) -> None:
        pass

    def log_event(self, event: str, **fields: object) -> None:
        pass

    def report_failure(self, failure: JobFailure) -> None:
        """Reports the failure on behalf of rank zero, which may hang or be killed because of it.

        The failure also goes into a separate file, because rank zero may write status.json once more.
        """
        write_atomically(self._peer_failure_path, canonical_json(failure.fields()), sync=False)
        with suppress(FileNotFoundError, ValueError):  # damaged: rank zero writes it again
            status = json.loads(self._status_path.read_bytes())
            if status["state"] == "running":
                status |= {"state": "failed", "failure": failure.fields()}
                write_atomically(self._status_path, canonical_json(status), staging="another")


def _read_status(path: Path) -> dict[str, Any]:
    """Returns the status of an earlier process; empty if there was none, or if the file is damaged."""
    try:
        status = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def _ends_with_newline(lines: Path) -> bool:
    """Returns whether the last line is complete; true for an empty file and for a pipe."""
    with lines.open("rb") as file:
        if not file.seekable() or file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
