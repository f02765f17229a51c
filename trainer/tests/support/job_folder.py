"""Writes job directories and datasets as the service does, and runs them here or in a child process."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from typing import Any

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.run import run_job

SOURCES = Path(__file__).parents[2] / "src"
TABLES = ("singer", "stadium", "pets", "airport")
COLUMNS = ("name", "age", "country", "year")


class JobFolder:
    """A job directory with its job.json; `change` overrides or adds fields."""

    def __init__(
        self,
        folder: Path,
        *,
        method: str,
        dataset: Path | None = None,
        base: Path | None = None,
        settings: dict[str, Any] | None = None,
        **change: Any,
    ) -> None:
        folder.mkdir(parents=True)
        self.folder, self.output = folder, folder / "policy"
        job = {
            "job_key": f"campaign/test/{folder.name}",
            "method": method,
            "dataset": dataset and str(dataset),
            "dataset_sha256": dataset and sha256_of_file(dataset),
            "output": str(self.output),
            "seed": 7,
            "settings": {"reserve_disk_bytes": 0, **(settings or {})},
        }
        if base is not None:
            job |= {"base": str(base), "base_hash": sha256_of_file(base / "manifest.json")}
        (folder / "job.json").write_text(json.dumps({**job, **change}))

    def run(self) -> int:
        return run_job(self.folder, Event())

    def submit(self, step: int, rows: Iterable[dict[str, Any]]) -> str:
        """Gives a resident job the batch of a step, as the service does; returns the hash of its dataset."""
        dataset = write_rows(self.folder / f"rows-{step}.jsonl", rows)
        batches, sha256 = self.folder / "batches", sha256_of_file(dataset)
        batches.mkdir(exist_ok=True)
        staging = batches / "staging"
        staging.write_text(json.dumps({"dataset": str(dataset), "sha256": sha256}))
        staging.rename(batches / f"step-{step:06d}.json")
        return sha256

    def fork(self, arm: Callable[[], object] = lambda: None) -> int:
        """Runs it, armed, in a process of its own that has imported everything already; returns its pid."""
        child = os.fork()
        if child == 0:
            try:
                arm()
                os._exit(self.run())
            finally:
                os._exit(1)
        return child

    def spawn(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "coevolve_trainer", "run", str(self.folder)]
        environment = os.environ | {"PYTHONPATH": str(SOURCES)}
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return status

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = (self.folder / "progress.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def resident_job(
    folder: Path,
    base: Path,
    *,
    method: str = "grpo",
    steps: int | None = 3,
    settings: Any = None,
    **change: Any,
) -> JobFolder:
    """A grpo or ppo job that learns fast and splits every batch into micro-batches."""
    quick = {"micro_batch_tokens": 600, "learning_rate": 1e-4, "idle_timeout_s": 60}
    return JobFolder(
        folder, method=method, base=base, steps=steps, settings=quick | (settings or {}), **change
    )


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def expert_rows(count: int) -> list[dict[str, Any]]:
    """Expert trajectories of two actions over a made-up database."""
    draw = random.Random(1)
    return [{"trajectory_id": f"expert-{i}", "messages": _episode(draw, right=True)} for i in range(count)]


def pair_rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(2)
    return [
        {
            "pair_id": f"pair-{i}",
            "kind": "expert-target",
            "lambda_dpo": 0.5,
            "lambda_sft": 0.5,
            "chosen": {"trajectory_id": f"chosen-{i}", "messages": _episode(draw, right=True)},
            "rejected": {"trajectory_id": f"rejected-{i}", "messages": _episode(draw, right=False)},
        }
        for i in range(count)
    ]


def _episode(draw: random.Random, *, right: bool) -> list[dict[str, str]]:
    table, column, value = draw.choice(TABLES), draw.choice(COLUMNS), draw.randint(1, 99)
    query = f"SELECT COUNT(*) FROM {table} WHERE {column} > {value}"
    return [
        {"role": "system", "content": "Write one SQL query at a time, then submit."},
        {"role": "user", "content": f"How many {table} have {column} above {value}?"},
        {"role": "assistant", "content": query if right else f"SELECT {column} FROM {table}"},
        {"role": "tool", "content": f"[({draw.randint(0, 40)},)]"},
        {"role": "assistant", "content": "submit"},
    ]
