"""BFCL on our server and on the official OpenEnv server: same episodes, same client, alternating rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from statistics import median
from typing import Any

from websockets.sync.client import connect

from .measure import MAX_SESSIONS, gold_episodes, run_load
from .servers import Server, official_server, our_server

Json = dict[str, Any]

MODES = ("threads", "loop")
_TIMEOUT_SECONDS = 600.0
_CHECKED_EPISODES = 12
_MAX_MESSAGE_BYTES = 2**24


def compare(rounds: int, tasks: int, attempts: int) -> Json:
    """
    Args:
        rounds: rounds per server; medians are reported.
        tasks: distinct tasks per round, at most 400.
        attempts: consecutive attempts per task.
    """
    with ExitStack() as running:
        ours = running.enter_context(our_server(["bfcl"], [], 2 * MAX_SESSIONS))
        servers = {"ours": (ours, "/envs/bfcl")}
        for mode in MODES:
            servers[mode] = (running.enter_context(official_server(mode)), "")
        episodes = gold_episodes(ours, "bfcl", tasks, attempts)
        _check_equal(servers, episodes[:: len(episodes) // _CHECKED_EPISODES])
        results = [
            {side: _play_round(server, mount, episodes) for side, (server, mount) in servers.items()}
            for _ in range(rounds)
        ]
    return _report(results, episodes)


def _play_round(server: Server, mount: str, episodes: list[Json]) -> Json:
    cpu = server.cpu_seconds()
    load = run_load(
        server, mount, episodes, sessions=MAX_SESSIONS, count=len(episodes), seconds=_TIMEOUT_SECONDS
    )
    return {
        "episodes_s": load["episodes"] / load["seconds"],
        "cpu_ms": (server.cpu_seconds() - cpu) / load["episodes"] * 1e3,
        "client_cpu_share": load["cpu_seconds"] / load["seconds"],
        "gold": sum(reward == 1 for reward in load["rewards"]) / len(episodes),
    }


def _report(results: list[dict[str, Json]], episodes: list[Json]) -> Json:
    def middle(side: str, key: str) -> float:
        return float(median(result[side][key] for result in results))

    sides = ("ours", *MODES)
    rates = {side: middle(side, "episodes_s") for side in sides}
    cpu = {side: middle(side, "cpu_ms") for side in sides}
    fastest = max(MODES, key=lambda mode: rates[mode])
    return {
        "environment": "bfcl",
        "sessions": MAX_SESSIONS,
        "episodes": len(episodes),
        "turns_per_episode": round(sum(len(e["actions"]) for e in episodes) / len(episodes), 1),
        "rounds": len(results),
        "episodes_s": {side: round(rate, 1) for side, rate in rates.items()},
        "official": fastest,
        "ratio": round(rates["ours"] / rates[fastest], 2),
        "ratios": {
            mode: [round(r["ours"]["episodes_s"] / r[mode]["episodes_s"], 2) for r in results]
            for mode in MODES
        },
        "cpu_ms_per_episode": {side: round(ms, 2) for side, ms in cpu.items()},
        "cpu_ratio": {mode: round(cpu[mode] / cpu["ours"], 2) for mode in MODES},
        "client_cpu_share": {side: round(middle(side, "client_cpu_share"), 2) for side in sides},
        "gold": {side: min(result[side]["gold"] for result in results) for side in sides},
        "load_1m": round(os.getloadavg()[0], 1),
        "versions": {name: version(name) for name in ("aiohttp", "uvloop")},
    }


def _check_equal(servers: Mapping[str, tuple[Server, str]], episodes: list[Json]) -> None:
    """
    Raises:
        RuntimeError: a server's observations differ from ours.
    """
    for episode in episodes:
        played = {side: _observations(server, mount, episode) for side, (server, mount) in servers.items()}
        for side, observations in played.items():
            if observations != played["ours"]:
                raise RuntimeError(f"{side} and ours differ at {episode['reset']}")


def _observations(server: Server, mount: str, episode: Json) -> list[Json]:
    headers = {"authorization": f"Bearer {server.token}"} if server.token else {}
    messages = [{"type": "reset", "data": episode["reset"]}]
    messages += [{"type": "step", "data": {"content": text}} for text in episode["actions"]]
    observations = []
    with connect(server.socket_url(mount), additional_headers=headers, max_size=_MAX_MESSAGE_BYTES) as socket:
        for message in messages:
            socket.send(json.dumps(message))
            observations.append(_without_absent(json.loads(socket.recv())["data"]))
    return observations


def _without_absent(data: Json) -> Json:
    """Removes null fields and the second copy of the metadata, which only the official server sends."""
    observation = {k: v for k, v in data["observation"].items() if v is not None and k != "metadata"}
    return {
        "observation": observation,
        "reward": data["reward"] or 0.0,
        "done": data["done"],
        "metadata": data.get("metadata") or {},
    }
