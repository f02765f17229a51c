"""Rows of campaigns, one message a line on stdin, into the files of a tracker.

A message opens a run (`open`), or has rows of one (`id`, `rows`, `end`). Rows may be repeated at any
time: after a restart the caller sends everything again, and rows that the tracker has are skipped. No
cursor exists beside the tracker's own files, so none can be ahead of them or behind.
"""

import fcntl
import json
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from coevolve_exports.trackers.tracker import Key, Row, Run, Tracker


def mirror(name: str, folder: Path, lines: Iterable[str]) -> int:
    """Writes all messages and returns the number of written rows."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends the input
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    with (folder / ".mirror.lock").open("w") as lock:
        acquire(lock, folder)
        tracker = tracker_of(name, folder)
        runs: dict[str, tuple[Run, set[Key]]] = {}
        for line in lines:
            message = json.loads(line)
            if "open" in message:
                opened: Run = message["open"]
                runs[opened["id"]] = (opened, tracker.open(opened))
                continue
            run, seen = runs[message["id"]]
            rows = {
                row.key: row for row in (Row(*fields) for fields in message["rows"]) if row.key not in seen
            }
            if rows:
                tracker.write(run, list(rows.values()))
                seen.update(rows)
                written += len(rows)
            if message["end"]:
                tracker.end(run, finished=message["end"]["finished"])
                del runs[run["id"]]
    return written


def acquire(lock: IO[str], folder: Path) -> None:
    """Waits until no other process writes the folder; the lock ends with its process."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another mirror writes {folder}: waiting for its end", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def tracker_of(name: str, folder: Path) -> Tracker:
    """Imports one tracker alone: each has packages that the others do not need."""
    if name == "tensorboard":
        from coevolve_exports.trackers.tensorboard_files import TensorBoardFiles

        return TensorBoardFiles(folder)
    if name == "trackio":
        from coevolve_exports.trackers.trackio_runs import TrackioRuns

        return TrackioRuns(folder)
    if name == "mlflow":
        from coevolve_exports.trackers.mlflow_runs import MlflowRuns

        return MlflowRuns(folder)
    if name == "wandb":
        from coevolve_exports.trackers.wandb_runs import WandbRuns

        return WandbRuns(folder)
    raise ValueError(f"found tracker {name}, expected tensorboard, wandb, trackio or mlflow")
