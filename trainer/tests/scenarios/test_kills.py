"""One job killed again and again, and the job that nobody disturbed."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from test_jobs import bytes_of

from job_folder import JobFolder, resident_job
from sampled_rollouts import Rows

FULL: dict[str, Any] = {"epochs": 40, "checkpoint_every": 2, "log_every": 5}
LORA = FULL | {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1, "learning_rate": 1e-2}
STEPS = 36  # updates of the resident job: more than go by on a busy machine between the kills


@pytest.mark.parametrize(
    ("name", "method", "settings", "kills"),
    [("full", "sft", FULL, 10), ("lora", "sft", LORA, 10), ("dpo", "dpo", FULL, 5), ("grpo", "grpo", {}, 5)],
)
def test_a_job_killed_at_random_moments_ends_with_the_same_policy(
    name: str,
    method: str,
    settings: dict[str, Any],
    kills: int,
    tmp_path: Path,
    workshop: Path,
    trained: Path,
    batches: list[Rows],
) -> None:
    def job_in(folder: Path) -> JobFolder:
        if method != "grpo":
            dataset = workshop / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
            return JobFolder(folder, method=method, base=trained, dataset=dataset, settings=settings)
        job = resident_job(folder, trained, steps=STEPS)
        for step in range(1, STEPS + 1):
            job.submit(step, batches[step % len(batches)])
        return job

    undisturbed, killed = job_in(tmp_path / "undisturbed"), job_in(tmp_path / "killed")
    assert undisturbed.run() == 0
    draw = random.Random(name)
    for kill in range(kills):
        ahead = draw.choice((0, 1, 2) if method == "grpo" else (0, 1, 2, 4, 8))
        until = reached(killed) + ahead
        child = killed.fork()
        while reached(killed) < until and not has_ended(child):
            time.sleep(0.005)
        # Some moments lie in a process's first moments, when it loads; the others within an update or two
        # of a checkpoint, before it, in the middle of it or after it
        time.sleep(draw.uniform(0, 0.05) if ahead else draw.uniform(0, 0.5))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert killed.status["state"] == "running", f"done before kill {kill}"

    assert killed.run() == 0
    resumed = [event["step"] for event in killed.events if event["event"] == "resumed"]
    assert len(resumed) >= kills / 2  # one that was killed while it loaded had not resumed yet
    assert resumed == sorted(resumed)
    assert bytes_of(killed.output) == bytes_of(undisturbed.output)
    assert killed.status["policy_hash"] == undisturbed.status["policy_hash"]
    assert killed.status["tokens"] == undisturbed.status["tokens"]
    assert repeated(killed, "checkpoint") <= kills  # of each kill at most the one that was being told of


def repeated(job: JobFolder, event: str) -> int:
    steps = [told["step"] for told in job.events if told["event"] == event]
    return len(steps) - len(set(steps))


def has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def reached(job: JobFolder) -> int:
    """Updates that the newest checkpoint holds."""
    return max([int(path.name[5:]) for path in (job.folder / "checkpoints").glob("step-*")], default=0)
