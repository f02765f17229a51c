"""Runs of Trackio in its local database.

The rows go into the database in this process, by the function that Trackio's own server calls.
`trackio.log` would hand them to a thread that may be killed before it writes. The column `log_id` is
unique: a repeated row is ignored.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from coevolve_exports.trackers.tracker import Key, Row, Run

PROJECT = "coevolve"


class TrackioRuns:
    def __init__(self, folder: Path) -> None:
        os.environ["TRACKIO_DIR"] = str(folder)
        os.environ["HF_HUB_OFFLINE"] = "1"
        from trackio.sqlite_storage import SQLiteStorage

        self.storage = SQLiteStorage

    def open(self, run: Run) -> set[Key]:
        return set()

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        self.storage.bulk_log(
            PROJECT,
            run["id"],
            [{f"{row.prefix}/{name}": value for name, value in row.values.items()} for row in rows],
            steps=[row.step for row in rows],
            timestamps=[datetime.fromtimestamp(row.at, UTC).isoformat() for row in rows],
            log_ids=[f"{run['id']}/{row.prefix}/{row.step}/{row.at}" for row in rows],
            config=run["config"],
            run_id=run["id"],
        )

    def end(self, run: Run, *, finished: bool) -> None:
        pass
