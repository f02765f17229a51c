"""Plays episodes whose clients are killed: python tests/killed_clients.py --episodes 1000

Clients are processes with ten sockets each. Every socket gets to a step drawn from the seed, half of them
with an action on the way whose answer nobody reads; then the process sends itself SIGKILL. Prints what the
server is left with: sessions, children, sockets, and its memory before and after.
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

_AT_ONCE = 2
_SOCKETS = 10
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Played:
    """One attempt at a task: how it is opened and what it is answered."""

    environment: str
    definition: dict[str, Any]
    actions: list[str]


@dataclass(frozen=True)
class Left:
    """What the server holds once its clients are dead."""

    sessions: int
    leases: int
    children: int
    sockets: int
    threads: int
    resident_mb: float


def tasks_of(client: Client, count: int) -> list[Played]:
    """Tasks of three environments: one on the event loop, one in threads, and one in children, the fewest."""
    played = []
    for environment, share in (("bfcl", 0.45), ("intercode-sql", 0.45)):
        body = {"split": "train", "count": 50, "seed": 1}
        with _fresh(client) as http:
            listed = http.post(f"/envs/{environment}/data/tasks", json=body).json()["tasks"]
        drawn = [Played(environment, task["definition"], task["reference_actions"]) for task in listed]
        played += [drawn[i % len(drawn)] for i in range(int(count * share))]
    return played + [Played("counting", {}, ["add 1"] * 4)] * (count - len(played))


def kill_clients(client: Client, played: list[Played], seed: int) -> None:
    """Every episode has a client of its share that is killed in the middle of it."""
    order = random.Random(seed)
    order.shuffle(played)
    alive: list[int] = []
    for start in range(0, len(played), _SOCKETS):
        if len(alive) == _AT_ONCE:
            _expect_killed(alive.pop(0))
        alive.append(_fork(client, played[start : start + _SOCKETS], seed + start))
    for pid in alive:
        _expect_killed(pid)


def settle(client: Client) -> Left:
    """Waits until nothing of the dead clients is left, for a minute at most."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while (left := look(client)).sessions + left.leases + left.children + left.sockets:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left


def look(client: Client) -> Left:
    with _fresh(client) as http:
        health = http.get("/health").json()["environments"]
        leases = http.get("/leases").json()["leases"]
    server = psutil.Process(client.process.pid)
    children = [child for child in server.children(recursive=True) if not _is_guardian(child)]
    sockets = [one for one in server.net_connections() if one.status != psutil.CONN_LISTEN]
    return Left(
        sum(load["sessions"] for load in health.values()),
        len(leases),
        len(children),
        len(sockets),
        server.num_threads(),
        server.memory_info().rss / 2**20,
    )


def _is_guardian(child: psutil.Process) -> bool:
    try:
        return "reaper" in str(child.cmdline())
    except psutil.Error:  # dying at this moment: it counts until it is reaped
        return False


def _fresh(client: Client) -> httpx.Client:
    """Connections that end with their `with`: one kept alive would be counted among what is left."""
    return httpx.Client(base_url=client.url, headers=client.http.headers, timeout=60)


def _fork(client: Client, share: list[Played], seed: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _play_until_killed(client, share, random.Random(seed))
        except BaseException as error:
            print(f"client: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    return pid


def _play_until_killed(client: Client, share: list[Played], draw: random.Random) -> None:
    sessions: list[Session] = []
    for played in share:
        session = client.session(played.environment)
        sessions.append(session)
        opened = session.reset(task=played.definition, seed=0, lease={"holder": "campaign/killed"})
        assert opened["type"] == "observation", opened
        steps = draw.randrange(len(played.actions))
        for action in played.actions[:steps]:
            assert session.step(action)["type"] == "observation"
        if draw.random() < 0.5:
            message = {"type": "step", "data": {"content": played.actions[steps]}}
            session.connection.send(json.dumps(message))
    os.kill(os.getpid(), signal.SIGKILL)


def _expect_killed(pid: int) -> None:
    status = os.waitpid(pid, 0)[1]
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise AssertionError("a client ended before it was killed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client = start_counting(Path(folder), pool=_AT_ONCE * _SOCKETS)
        client.http.close()  # its idle connection would be counted
        try:
            kill_clients(client, tasks_of(client, arguments.warm_up), arguments.seed)
            before = settle(client)
            began = time.monotonic()
            kill_clients(client, tasks_of(client, arguments.episodes), arguments.seed + 1)
            played, after = time.monotonic() - began, settle(client)
            report = {
                "episodes": arguments.episodes,
                "seconds": round(played, 1),
                "settled_after_s": round(time.monotonic() - began - played, 1),
                "before": asdict(before),
                "after": asdict(after),
            }
            print(json.dumps(report, indent=2))
        finally:
            stop_server(client)


if __name__ == "__main__":
    main()
