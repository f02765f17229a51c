"""Plays episodes whose clients are killed: python tests/killed_clients.py --episodes 1000

Clients are processes with ten sockets each. Every socket plays a number of actions drawn from the seed, and
half of the sockets send one more action without reading the reply; then the process sends itself SIGKILL.
Prints the server's sessions, children, sockets and memory before and after.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from conftest import Client, Session, stop_server
from counting_server import start_counting

_CONCURRENT_CLIENTS = 2
_SOCKETS = 10
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Attempt:
    """One attempt at a task."""

    environment: str
    definition: dict[str, Any]
    actions: list[str]


@dataclass(frozen=True)
class Resources:
    """Resources of the server."""

    sessions: int
    leases: int
    children: int
    sockets: int
    threads: int
    resident_mb: float


def draw_attempts(client: Client, count: int) -> list[Attempt]:
    """Draws attempts in three environments: on the event loop, in threads, and a few in children."""
    attempts = []
    for environment, fraction in (("bfcl", 0.45), ("intercode-sql", 0.45)):
        body = {"split": "train", "count": 50, "seed": 1}
        with _new_http_client(client) as http:
            tasks = http.post(f"/envs/{environment}/data/tasks", json=body).json()["tasks"]
        drawn = [Attempt(environment, task["definition"], task["reference_actions"]) for task in tasks]
        attempts += [drawn[i % len(drawn)] for i in range(int(count * fraction))]
    return attempts + [Attempt("counting", {}, ["add 1"] * 4)] * (count - len(attempts))


def kill_clients(client: Client, attempts: list[Attempt], seed: int) -> None:
    """Plays all attempts with clients that are killed in the middle of their episodes."""
    random.Random(seed).shuffle(attempts)
    running: list[int] = []
    for start in range(0, len(attempts), _SOCKETS):
        if len(running) == _CONCURRENT_CLIENTS:
            _expect_killed(running.pop(0))
        running.append(_fork(client, attempts[start : start + _SOCKETS], seed + start))
    for pid in running:
        _expect_killed(pid)


def wait_until_free(client: Client) -> Resources:
    """Waits at most a minute until all resources of the killed clients are free."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        used = measure(client)
        if not (used.sessions + used.leases + used.children + used.sockets) or time.monotonic() > deadline:
            return used
        time.sleep(0.1)


def measure(client: Client) -> Resources:
    with _new_http_client(client) as http:
        health = http.get("/health").json()["environments"]
        leases = http.get("/leases").json()["leases"]
    server = psutil.Process(client.process.pid)
    children = [child for child in server.children(recursive=True) if not _is_reaper(child)]
    sockets = [one for one in server.net_connections() if one.status != psutil.CONN_LISTEN]
    return Resources(
        sum(load["sessions"] for load in health.values()),
        len(leases),
        len(children),
        len(sockets),
        server.num_threads(),
        server.memory_info().rss / 2**20,
    )


def _is_reaper(child: psutil.Process) -> bool:
    try:
        return "reaper" in str(child.cmdline())
    except psutil.Error:  # it is exiting and counts until it is reaped
        return False


def _new_http_client(client: Client) -> httpx.Client:
    """Returns a client whose connections end with its `with`: an idle one would be counted as a socket."""
    return httpx.Client(base_url=client.url, headers=client.http.headers, timeout=60)


def _fork(client: Client, attempts: list[Attempt], seed: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _play_until_killed(client, attempts, random.Random(seed))
        except BaseException as error:
            print(f"client: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    return pid


def _play_until_killed(client: Client, attempts: list[Attempt], draw: random.Random) -> None:
    sessions: list[Session] = []
    for attempt in attempts:
        session = client.session(attempt.environment)
        sessions.append(session)
        opened = session.reset(task=attempt.definition, seed=0, lease={"holder": "campaign/killed"})
        assert opened["type"] == "observation", opened
        count = draw.randrange(len(attempt.actions))
        for action in attempt.actions[:count]:
            assert session.step(action)["type"] == "observation"
        if draw.random() < 0.5:
            message = {"type": "step", "data": {"content": attempt.actions[count]}}
            session.connection.send(json.dumps(message))
    os.kill(os.getpid(), signal.SIGKILL)


def _expect_killed(pid: int) -> None:
    status = os.waitpid(pid, 0)[1]
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise AssertionError("a client exited before it was killed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000, help="number of episodes (1000)")
    parser.add_argument(
        "--warm-up", type=int, default=200, help="episodes before the first measurement (200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws (1)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client = start_counting(Path(folder), pool=_CONCURRENT_CLIENTS * _SOCKETS)
        client.http.close()  # its idle connection would be counted as a socket
        try:
            kill_clients(client, draw_attempts(client, arguments.warm_up), arguments.seed)
            before = wait_until_free(client)
            started_at = time.monotonic()
            kill_clients(client, draw_attempts(client, arguments.episodes), arguments.seed + 1)
            seconds = time.monotonic() - started_at
            after = wait_until_free(client)
            report = {
                "episodes": arguments.episodes,
                "seconds": round(seconds, 1),
                "free_after_seconds": round(time.monotonic() - started_at - seconds, 1),
                "before": asdict(before),
                "after": asdict(after),
            }
            print(json.dumps(report, indent=2))
        finally:
            stop_server(client)


if __name__ == "__main__":
    main()
