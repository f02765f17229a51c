"""Offline runs of Weights & Biases, for `wandb sync`.

W&B's process writes its files later than `log` returns, and cannot continue them offline. Therefore a
run is written whole, in a separate folder, when its campaign has ended, and takes its place by a
rename. A kill leaves the earlier run or none. A later run of the campaign has the same id, so that
`wandb sync` replaces the earlier.
"""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from coevolve_exports.trackers.tracker import Key, Row, Run

PROJECT = "coevolve"
STAGING = ".staging"
DIGEST = "coevolve.sha256"


class WandbRuns:
    def __init__(self, folder: Path) -> None:
        os.environ["WANDB_ERROR_REPORTING"] = "false"
        import wandb

        self.wandb = wandb
        self.folder = folder
        self.rows: dict[str, list[Row]] = {}
        shutil.rmtree(folder / STAGING, ignore_errors=True)

    def open(self, run: Run) -> set[Key]:
        self.rows[run["id"]] = []
        return set()

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        self.rows[run["id"]] += rows

    def end(self, run: Run, *, finished: bool) -> None:
        rows = sorted(self.rows.pop(run["id"]), key=lambda row: (row.at, row.prefix, row.step))
        digest = sha256(repr((run, rows)).encode()).hexdigest()
        started = datetime.fromtimestamp(run["created"], UTC).strftime("%Y%m%d_%H%M%S")
        target = self.folder / "wandb" / f"offline-run-{started}-{run['id']}"
        if (target / DIGEST).exists() and (target / DIGEST).read_text() == digest:
            return
        staging = self.folder / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        written = self.log(run, rows, staging)
        (written / DIGEST).write_text(digest)
        target.parent.mkdir(exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        written.rename(target)
        shutil.rmtree(staging)

    def log(self, run: Run, rows: Sequence[Row], folder: Path) -> Path:
        """Returns the folder of the run, which is complete."""
        settings: dict[str, Any] = {
            "mode": "offline",
            "console": "off",
            "silent": True,
            "disable_git": True,
            "disable_code": True,
            "x_disable_meta": True,
            "x_disable_stats": True,
            "x_disable_machine_info": True,
            "x_save_requirements": False,
        }
        logged = self.wandb.init(
            project=PROJECT,
            id=run["id"],
            name=run["name"],
            config=run["config"],
            dir=folder,
            settings=self.wandb.Settings(**settings),
        )
        for prefix, axis in {row.prefix: row.axis for row in rows}.items():
            logged.define_metric(f"{prefix}/*", step_metric=axis)
        for step, row in enumerate(rows):
            named = {f"{row.prefix}/{name}": value for name, value in row.values.items()}
            logged.log({**named, row.axis: row.step, "recorded_at": row.at}, step=step)
        logged.finish()
        return next((folder / "wandb").glob("offline-run-*"))
