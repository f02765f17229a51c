"""One job killed again and again, and the job that nobody disturbed."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from job_folder import JobFolder
from test_jobs import bytes_of

KILLS = 10
FULL: dict[str, Any] = {"epochs": 40, "checkpoint_every": 2, "log_every": 5}
LORA = FULL | {"adapter": "lora", "lora_rank": 4, "lora_dropout": 0.1, "learning_rate": 1e-2}


@pytest.mark.parametrize(("name", "settings"), [("full", FULL), ("lora", LORA)])
def test_a_job_killed_ten_times_at_random_moments_ends_with_the_same_policy(
    name: str, settings: dict[str, Any], tmp_path: Path, workshop: Path, trained: Path
) -> None:
    jobs = [
        JobFolder(
            tmp_path / folder,
            method="sft",
            base=trained,
            dataset=workshop / "experts.jsonl",
            settings=settings,
        )
        for folder in ("undisturbed", "killed")
    ]
    undisturbed, killed = jobs
    assert undisturbed.run() == 0
    draw = random.Random(name)
    for kill in range(KILLS):
        ahead = draw.choice((0, 1, 2, 4, 8))
        until = reached(killed) + ahead
        child = forked(killed)
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
    assert len(resumed) >= KILLS / 2  # one that was killed while it loaded had not resumed yet
    assert resumed == sorted(resumed)
    assert bytes_of(killed.output) == bytes_of(undisturbed.output)
    assert killed.status["policy_hash"] == undisturbed.status["policy_hash"]
    assert killed.status["tokens"] == undisturbed.status["tokens"]


def forked(job: JobFolder) -> int:
    """The job in a process of its own, which has imported everything already: its id."""
    child = os.fork()
    if child == 0:
        os._exit(job.run())
    return child


def has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def reached(job: JobFolder) -> int:
    """Updates that the newest checkpoint holds."""
    return max([int(path.name[5:]) for path in (job.folder / "checkpoints").glob("step-*")], default=0)
