"""The client process, `python -m environment_bench.load`: job from stdin, result to stdout.

Job: {"url": "ws://...", "token", "sessions", "episodes": [{"reset": {...}, "actions": [...]}], "count",
"seconds"}: repeats the episodes until `count` have started or `seconds` have passed. Result: see `measure`.
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

from .player import EpisodeFrames, Player, Statistics, text_frame

Json = dict[str, Any]
_RETRY_SECONDS = 0.02


async def measure(job: Json) -> Json:
    """
    Returns:
        number of played `episodes`, their `rewards`, `reset_ms` and `step_ms` per message, number of
        `refused` sockets, `seconds` and `cpu_seconds` of this process.
    """
    episodes = [_frames(episode) for episode in job["episodes"]]
    statistics = Statistics()
    clock, cpu = time.perf_counter(), time.process_time()
    remaining = _until(clock + job["seconds"], itertools.islice(itertools.cycle(episodes), job["count"]))
    await asyncio.gather(*(_client(job, remaining, statistics) for _ in range(job["sessions"])))
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    if statistics.failure is not None:
        raise RuntimeError(f"the server returned: {statistics.failure}")
    return {
        "episodes": statistics.episodes,
        "refused": statistics.refused,
        "rewards": statistics.rewards,
        "reset_ms": statistics.reset_ms,
        "step_ms": statistics.step_ms,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


async def _client(job: Json, remaining: Iterator[EpisodeFrames], statistics: Statistics) -> None:
    """Plays one episode after the other, each on a new socket."""
    address = urlsplit(job["url"])
    host, port = address.hostname or "", address.port or 0
    for episode in remaining:
        while statistics.failure is None and not await _play(job, host, port, episode, statistics):
            await asyncio.sleep(_RETRY_SECONDS)


async def _play(job: Json, host: str, port: int, episode: EpisodeFrames, statistics: Statistics) -> bool:
    player = Player(job["url"], job["token"], episode, statistics)
    await asyncio.get_running_loop().create_connection(lambda: player, host, port)
    return await player.over


def _until(deadline: float, episodes: Iterator[EpisodeFrames]) -> Iterator[EpisodeFrames]:
    for episode in episodes:
        if time.perf_counter() >= deadline:
            return
        yield episode


def _frames(episode: Json) -> EpisodeFrames:
    reset = text_frame({"type": "reset", "data": episode["reset"]})
    steps = [text_frame({"type": "step", "data": {"content": text}}) for text in episode["actions"]]
    return EpisodeFrames((reset, *steps))


if __name__ == "__main__":
    json.dump(asyncio.run(measure(json.load(sys.stdin))), sys.stdout)
