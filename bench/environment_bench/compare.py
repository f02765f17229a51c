"""BFCL on our server and on the official OpenEnv server: the same episodes, the same client, turn by turn."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from statistics import median
from typing import Any

from websockets.sync.client import connect

from .measure import MOST_SESSIONS, gold_episodes, run_load
from .servers import Server, official_server, our_server

Json = dict[str, Any]

WAYS = ("threads", "loop")
_SECONDS = 600.0
_COMPARED = 12
_MOST_MESSAGE_BYTES = 2**24


def compare(rounds: int, tasks: int, attempts: int) -> Json:
    """
    Args:
        rounds: turns of every server, of which medians are reported.
        tasks: different ones of a turn, at most 400.
        attempts: at each task, one after the other.
    """
    with ExitStack() as running:
        ours = running.enter_context(our_server(["bfcl"], [], 2 * MOST_SESSIONS))
        servers = {"ours": (ours, "/envs/bfcl")}
        for way in WAYS:
            servers[way] = (running.enter_context(official_server(way)), "")
        episodes = gold_episodes(ours, "bfcl", tasks, attempts)
        _check_equal(servers, episodes[:: len(episodes) // _COMPARED])
        turns = [
            {side: _turn(server, mount, episodes) for side, (server, mount) in servers.items()}
            for _ in range(rounds)
        ]
    return _report(turns, len(episodes))


def _turn(server: Server, mount: str, episodes: list[Json]) -> Json:
    cpu = server.cpu_seconds()
    load = run_load(server, mount, episodes, sessions=MOST_SESSIONS, count=len(episodes), seconds=_SECONDS)
    return {
        "episodes_s": load["episodes"] / load["seconds"],
        "cpu_ms": (server.cpu_seconds() - cpu) / load["episodes"] * 1e3,
        "client_cpu_share": load["cpu_seconds"] / load["seconds"],
        "gold": sum(reward == 1 for reward in load["rewards"]) / len(episodes),
    }


def _report(turns: list[dict[str, Json]], episodes: int) -> Json:
    def middle(side: str, key: str) -> float:
        return float(median(turn[side][key] for turn in turns))

    sides = ("ours", *WAYS)
    rates = {side: middle(side, "episodes_s") for side in sides}
    cpu = {side: middle(side, "cpu_ms") for side in sides}
    fastest = max(WAYS, key=lambda way: rates[way])
    return {
        "environment": "bfcl",
        "sessions": MOST_SESSIONS,
        "episodes": episodes,
        "rounds": len(turns),
        "episodes_s": {side: round(rate, 1) for side, rate in rates.items()},
        "official": fastest,
        "ratio": round(rates["ours"] / rates[fastest], 2),
        "ratios": {
            way: [round(turn["ours"]["episodes_s"] / turn[way]["episodes_s"], 2) for turn in turns]
            for way in WAYS
        },
        "cpu_ms_per_episode": {side: round(ms, 2) for side, ms in cpu.items()},
        "cpu_ratio": {way: round(cpu[way] / cpu["ours"], 2) for way in WAYS},
        "client_cpu_share": {side: round(middle(side, "client_cpu_share"), 2) for side in sides},
        "gold": {side: min(turn[side]["gold"] for turn in turns) for side in sides},
        "load_1m": round(os.getloadavg()[0], 1),
        "versions": {name: version(name) for name in ("aiohttp", "uvloop")},
    }


def _check_equal(servers: Mapping[str, tuple[Server, str]], episodes: list[Json]) -> None:
    """
    Raises:
        RuntimeError: a server answers an episode otherwise than ours.
    """
    for episode in episodes:
        told = {side: _told(server, mount, episode) for side, (server, mount) in servers.items()}
        for side, messages in told.items():
            if messages != told["ours"]:
                raise RuntimeError(f"{side} and ours differ at {episode['reset']}")


def _told(server: Server, mount: str, episode: Json) -> list[Json]:
    headers = {"authorization": f"Bearer {server.token}"} if server.token else {}
    messages = [{"type": "reset", "data": episode["reset"]}]
    messages += [{"type": "step", "data": {"content": text}} for text in episode["actions"]]
    told = []
    with connect(
        server.socket_url(mount), additional_headers=headers, max_size=_MOST_MESSAGE_BYTES
    ) as socket:
        for message in messages:
            socket.send(json.dumps(message))
            told.append(_without_absent(json.loads(socket.recv())["data"]))
    return told


def _without_absent(data: Json) -> Json:
    """The official server writes absent fields as null, and metadata twice."""
    observation = {k: v for k, v in data["observation"].items() if v is not None and k != "metadata"}
    return {
        "observation": observation,
        "reward": data["reward"] or 0.0,
        "done": data["done"],
        "metadata": data.get("metadata") or {},
    }
