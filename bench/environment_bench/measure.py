"""One environment on our server: latencies, episodes per second, memory of a session."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import quantiles
from typing import Any

from websockets.sync.client import connect

from .servers import ROOT, Server, our_server

Json = dict[str, Any]

MAX_SESSIONS = 64
_TASKS = 64
_POOL_TASKS = 8
_MAX_MESSAGE_BYTES = 2**24


def measure(name: str, options: Sequence[str], seconds: float) -> Json:
    """
    Args:
        seconds: duration of each of the two loads; started episodes are finished.
    """
    with our_server([name], options, MAX_SESSIONS) as server:
        sessions = int(server.get("/health")["environments"][name]["capacity"])
        episodes = gold_episodes(server, name, _TASKS if sessions == MAX_SESSIONS else _POOL_TASKS)
        memory = _memory_per_session(server, name, episodes, sessions)
        mount = f"/envs/{name}"
        single = run_load(server, mount, episodes, sessions=1, count=len(episodes), seconds=seconds)
        concurrent = run_load(server, mount, episodes, sessions=sessions, count=10**6, seconds=seconds)
    rewards = [*single["rewards"], *concurrent["rewards"]]
    return {
        "environment": name,
        "reset_ms_p50": _quantile(single["reset_ms"], 50),
        "reset_ms_p95": _quantile(single["reset_ms"], 95),
        "step_ms_p50": _quantile(single["step_ms"], 50),
        "step_ms_p95": _quantile(single["step_ms"], 95),
        "episodes_s_1": round(single["episodes"] / single["seconds"], 2),
        "sessions": sessions,
        "episodes_s": round(concurrent["episodes"] / concurrent["seconds"], 2),
        "memory_mb_per_session": round(memory, 2),
        "gold": round(sum(reward >= 1 for reward in rewards) / len(rewards), 4),
        "episodes": len(rewards),
    }


def gold_episodes(server: Server, name: str, count: int, attempts: int = 1) -> list[Json]:
    """Returns train tasks with their reference actions, with consecutive attempts per task.

    Raises:
        LookupError: the environment has no tasks with reference actions.
    """
    tasks = server.post(f"/envs/{name}/data/tasks", split="train", count=count, seed=1)["tasks"]
    played = [
        {"reset": {"task": task["definition"], "seed": 0}, "actions": task["reference_actions"]}
        for task in tasks
        if task["reference_actions"]
        for _ in range(attempts)
    ]
    if not played:
        raise LookupError(f"{name} has no tasks with reference actions")
    return played


def run_load(
    server: Server, mount: str, episodes: list[Json], *, sessions: int, count: int, seconds: float
) -> Json:
    """Returns the result of `load.measure` from a separate client process."""
    job = {
        "url": server.socket_url(mount),
        "token": server.token,
        "sessions": sessions,
        "episodes": episodes,
        "count": count,
        "seconds": seconds,
    }
    command = [sys.executable, "-m", "environment_bench.load"]
    done = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, cwd=ROOT / "bench", check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"the client process failed: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def _memory_per_session(server: Server, name: str, episodes: list[Json], sessions: int) -> float:
    """Returns 10^6 bytes per session: memory of the server and its children with all sessions in an episode,
    minus memory of the server alone after its first episode.
    """
    run_load(server, f"/envs/{name}", episodes[:1], sessions=1, count=1, seconds=60)
    before = server.resident_mb(children=False)
    headers = {"authorization": f"Bearer {server.token}"}
    with ExitStack() as open_sockets:
        for i in range(sessions):
            socket = open_sockets.enter_context(
                connect(
                    server.socket_url(f"/envs/{name}"),
                    additional_headers=headers,
                    max_size=_MAX_MESSAGE_BYTES,
                )
            )
            socket.send(json.dumps({"type": "reset", "data": episodes[i % len(episodes)]["reset"]}))
            if json.loads(answer := socket.recv())["type"] != "observation":
                raise RuntimeError(f"no session: {answer!r}")
        return (server.resident_mb(children=True) - before) / sessions


def _quantile(values: list[float], percent: int) -> float:
    cut = quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
    return round(cut, 3)
