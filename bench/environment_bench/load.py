"""The client process, `python -m environment_bench.load`: a job on stdin, its result on stdout.

Job: {"url": "ws://...", "token", "sessions", "episodes": [{"reset": {...}, "actions": [...]}], "count",
"seconds"}: the episodes over and over until `count` were begun or `seconds` passed. Result: see `measure`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .player import Played, Player, Tally, text_frame

Json = dict[str, Any]
_RETRY_SECONDS = 0.02


async def measure(job: Json) -> Json:
    """
    Returns:
        `episodes` played, their `rewards`, `reset_ms` and `step_ms` (a number per message), how often a
        socket was `refused`, and the `seconds` and this process's `cpu_seconds` that all of it took.
    """
    episodes = [_frames(episode) for episode in job["episodes"]]
    tally = Tally()
    clock, cpu = time.perf_counter(), time.process_time()
    left = _until(clock + job["seconds"], itertools.islice(itertools.cycle(episodes), job["count"]))
    await asyncio.gather(*(_client(job, left, tally) for _ in range(job["sessions"])))
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    if tally.wrong is not None:
        raise RuntimeError(f"the server answered: {tally.wrong}")
    return {
        "episodes": tally.episodes,
        "refused": tally.refused,
        "rewards": tally.rewards,
        "reset_ms": tally.reset_ms,
        "step_ms": tally.step_ms,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


async def _client(job: Json, left: Iterator[Played], tally: Tally) -> None:
    """One episode after the other, each on a socket of its own."""
    address = urlsplit(job["url"])
    host, port = address.hostname or "", address.port or 0
    for episode in left:
        while tally.wrong is None and not await _play(job, host, port, episode, tally):
            await asyncio.sleep(_RETRY_SECONDS)


async def _play(job: Json, host: str, port: int, episode: Played, tally: Tally) -> bool:
    player = Player(job["url"], job["token"], episode, tally)
    await asyncio.get_running_loop().create_connection(lambda: player, host, port)
    return await player.over


def _until(deadline: float, episodes: Iterator[Played]) -> Iterator[Played]:
    for episode in episodes:
        if time.perf_counter() >= deadline:
            return
        yield episode


def _frames(episode: Json) -> Played:
    reset = text_frame({"type": "reset", "data": episode["reset"]})
    steps = [text_frame({"type": "step", "data": {"content": text}}) for text in episode["actions"]]
    return Played((reset, *steps))


if __name__ == "__main__":
    json.dump(asyncio.run(measure(json.load(sys.stdin))), sys.stdout)
