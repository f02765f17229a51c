"""Runs of MLflow in a SQLite database.

The key of a metric there has all of its fields: name, time, step, value. A repeated point is therefore
the same point. A run is found by its tag, because MLflow chooses the ids of runs.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coevolve_exports.trackers.tracker import Key, Row, Run, flat

EXPERIMENT = "coevolve"
TAG = "coevolve.run"
MAX_METRICS = 1000
MAX_PARAMS = 100
MAX_PARAM_LENGTH = 6000


class MlflowRuns:
    def __init__(self, folder: Path) -> None:
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        from mlflow import MlflowClient, entities

        self.entities = entities
        path = folder / "mlflow.db"
        if not path.exists():  # MLflow cannot continue a database whose tables were created in part
            staging = folder / "mlflow.db.staging"
            staging.unlink(missing_ok=True)
            MlflowClient(**uris(staging)).create_experiment(EXPERIMENT, str(folder / "artifacts"))
            staging.rename(path)
        self.client = MlflowClient(**uris(path))
        self.experiment = self.client.get_experiment_by_name(EXPERIMENT).experiment_id
        self.ids: dict[str, str] = {}

    def open(self, run: Run) -> set[Key]:
        found = self.client.search_runs([self.experiment], f"tags.`{TAG}` = '{run['id']}'", max_results=1)
        opened = found[0] if found else self.create(run)
        self.ids[run["id"]] = opened.info.run_id
        settings = {name: str(value)[:MAX_PARAM_LENGTH] for name, value in flat(run["config"])}
        missing = [
            self.entities.Param(*item) for item in settings.items() if item[0] not in opened.data.params
        ]
        for params in parts(missing, MAX_PARAMS):
            self.client.log_batch(opened.info.run_id, params=params)
        return set()

    def create(self, run: Run) -> Any:
        start = milliseconds(run["created"])
        return self.client.create_run(self.experiment, start, tags={TAG: run["id"]}, run_name=run["name"])

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        metrics = [
            self.entities.Metric(f"{row.prefix}/{name}", value, milliseconds(row.at), row.step)
            for row in rows
            for name, value in row.values.items()
        ]
        for batch in parts(metrics, MAX_METRICS):
            self.client.log_batch(self.ids[run["id"]], metrics=batch)

    def end(self, run: Run, *, finished: bool) -> None:
        opened = self.ids.pop(run["id"])
        if finished:
            self.client.set_terminated(opened)


def uris(path: Path) -> dict[str, str]:
    # The registry of models is not used; in a database it needs further packages.
    return {"tracking_uri": f"sqlite:///{path}", "registry_uri": str(path.parent / "registry")}


def parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
