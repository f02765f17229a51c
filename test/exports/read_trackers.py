"""`read_trackers.py <tracker> <folder>` prints the points of a tracker as JSON: [name, step, value].

They are read without the code that wrote them, from Trackio's database, by MLflow's client, or from the file that
`wandb sync` reads.
"""

import json
import sqlite3
import struct
import sys
from pathlib import Path


def trackio(folder: Path) -> list[list]:
    (path,) = folder.glob("*.db")
    rows = sqlite3.connect(path).execute("select step, metrics from metrics")
    return [[name, step, value] for step, metrics in rows for name, value in json.loads(metrics).items()]


def mlflow(folder: Path) -> list[list]:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db", registry_uri=str(folder / "registry"))
    experiment = client.get_experiment_by_name("coevolve")
    return [
        [metric.key, metric.step, metric.value]
        for run in client.search_runs([experiment.experiment_id])
        for name in run.data.metrics
        for metric in client.get_metric_history(run.info.run_id, name)
    ]


def wandb(folder: Path) -> list[list]:
    from wandb.proto.wandb_internal_pb2 import Record

    points = []
    for path in folder.glob("wandb/offline-run-*/run-*.wandb"):
        steps = []
        for data in records(path.read_bytes()):
            record = Record.FromString(data)
            if not record.HasField("history"):
                continue
            items = record.history.item
            row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}
            steps.append(row["_step"])
            axis = next((name for name in row if name.split("/")[-1] in ("update", "step")), "iteration")
            points += [[name, row[axis], row[name]] for name in row if "/" in name and name != axis]
        assert steps == list(range(len(steps))), "steps are not the order of the rows"
    return points


def records(data: bytes):
    """Reads the log of LevelDB that W&B writes: blocks of 32 KiB, of which a record may cover several."""
    offset, parts = 7, []
    while offset + 7 <= len(data):
        left = 32768 - offset % 32768
        if left < 7:
            offset += left
            continue
        _, length, kind = struct.unpack("<IHB", data[offset : offset + 7])
        parts.append(data[offset + 7 : offset + 7 + length])
        offset += 7 + length
        if kind in (1, 4):  # the whole record, or its last part
            yield b"".join(parts)
            parts = []


tracker, path = sys.argv[1:]
json.dump({"trackio": trackio, "mlflow": mlflow, "wandb": wandb}[tracker](Path(path)), sys.stdout)
