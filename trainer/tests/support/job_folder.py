"""Job directories and datasets in the service's format; runs jobs here, in a fork or as a command."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from safetensors.torch import load_file

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

    def fork(self, prepare: Callable[[], object] = lambda: None) -> int:
        """Runs the job in a forked process, which need not import anything; returns its pid.

        SIGTERM stops it as it stops the command. `prepare` is called in the process before the job.
        """
        child = os.fork()
        if child == 0:
            code = 1
            try:
                stop = Event()
                signal.signal(signal.SIGTERM, lambda *_: stop.set())
                prepare()
                code = run_job(self.folder, stop)
                sys.stderr.flush()
            finally:
                os._exit(code)
        return child

    def spawn(self) -> subprocess.Popen[str]:
        """Starts the command that the service starts."""
        environment = os.environ | {"PYTHONPATH": str(SOURCES)}
        command = [sys.executable, *self.module]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def submit(self, step: int, rows: Iterable[dict[str, Any]]) -> str:
        """Writes the batch of a step of an RL job, as the service does; returns the hash of its dataset."""
        dataset = write_rows(self.folder / f"rows-{step}.jsonl", rows)
        batches, sha256 = self.folder / "batches", sha256_of_file(dataset)
        batches.mkdir(exist_ok=True)
        staging = batches / "staging"
        staging.write_text(json.dumps({"dataset": str(dataset), "sha256": sha256}))
        staging.rename(batches / f"step-{step:06d}.json")
        return sha256

    def change(self, **fields: Any) -> None:
        """Replaces fields of job.json."""
        path = self.folder / "job.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    @property
    def module(self) -> list[str]:
        """Arguments of the Python interpreter, or of torchrun, that run the job."""
        return ["-m", "coevolve_trainer", "run", str(self.folder)]

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return status

    @property
    def failure(self) -> dict[str, str]:
        failure: dict[str, str] = self.status["failure"]
        return failure

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = (self.folder / "progress.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def events_of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    @property
    def losses(self) -> list[float]:
        """The losses of the progress lines."""
        return [event["loss"] for event in self.events_of("step")]

    @property
    def resumed_steps(self) -> list[int]:
        return [event["step"] for event in self.events_of("resumed")]

    @property
    def checkpoint_steps(self) -> list[int]:
        """The updates of the checkpoints on disk, ascending."""
        return sorted(int(path.name[5:]) for path in (self.folder / "checkpoints").glob("step-*"))

    @property
    def newest_checkpoint(self) -> int:
        """The update of the newest checkpoint; 0 if there is none."""
        return max(self.checkpoint_steps, default=0)

    @property
    def policy_hashes(self) -> list[str]:
        """The hashes of the policies that an RL job has published."""
        return [policy["policy_hash"] for policy in self.status["policies"]]

    @property
    def optimizer_steps(self) -> set[int]:
        """AdamW's step counts in the trainer state of an RL job; the same for every parameter."""
        state = load_file(self.folder / "trainer-state.safetensors")
        return {int(value) for name, value in state.items() if name.endswith(".step")}


class _Copy(JobFolder):
    def __init__(self, original: JobFolder, folder: Path) -> None:
        shutil.copytree(original.folder, folder)
        self.folder, self.output = folder, folder / "policy"
        self.change(output=str(self.output))


@contextmanager
def copy_of(job: JobFolder) -> Iterator[JobFolder]:
    """Yields a copy of a job's folder with another output path."""
    with tempfile.TemporaryDirectory() as folder:
        yield _Copy(job, Path(folder) / "job")


def rl_job(
    folder: Path,
    base: Path,
    *,
    method: str = "grpo",
    steps: int | None = 3,
    settings: Any = None,
    **change: Any,
) -> JobFolder:
    """Returns a grpo or ppo job with a high learning rate that splits every batch into micro-batches."""
    fast = {"micro_batch_tokens": 600, "learning_rate": 1e-4, "idle_timeout_s": 60}
    return JobFolder(
        folder, method=method, base=base, steps=steps, settings=fast | (settings or {}), **change
    )


def policy_bytes(policy: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in policy.iterdir()}


def exit_code(child: int) -> int:
    """Waits for a forked process; returns its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def wait_until(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"the condition was false for {timeout_s:g} s"
        time.sleep(0.005)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def expert_rows(count: int) -> list[dict[str, Any]]:
    """Returns expert trajectories of two actions over an invented database."""
    draw = random.Random(1)
    return [
        {"trajectory_id": f"expert-{i}", "messages": _episode(draw, is_correct=True)} for i in range(count)
    ]


def pair_rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(2)
    return [
        {
            "pair_id": f"pair-{i}",
            "kind": "expert-target",
            "lambda_dpo": 0.5,
            "lambda_sft": 0.5,
            "chosen": {"trajectory_id": f"chosen-{i}", "messages": _episode(draw, is_correct=True)},
            "rejected": {"trajectory_id": f"rejected-{i}", "messages": _episode(draw, is_correct=False)},
        }
        for i in range(count)
    ]


def _episode(draw: random.Random, *, is_correct: bool) -> list[dict[str, str]]:
    table, column, value = draw.choice(TABLES), draw.choice(COLUMNS), draw.randint(1, 99)
    query = f"SELECT COUNT(*) FROM {table} WHERE {column} > {value}"
    return [
        {"role": "system", "content": "Write one SQL query at a time, then submit."},
        {"role": "user", "content": f"How many {table} have {column} above {value}?"},
        {"role": "assistant", "content": query if is_correct else f"SELECT {column} FROM {table}"},
        {"role": "tool", "content": f"[({draw.randint(0, 40)},)]"},
        {"role": "assistant", "content": "submit"},
    ]
