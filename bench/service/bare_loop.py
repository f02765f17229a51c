"""The attempts of bench:service in a plain asyncio loop: their cost without any guarantee.

`python bare_loop.py ENVIRONMENT_URL POLICY_URL ATTEMPTS PLACES TURNS` prints `{"seconds", "cpuSeconds"}`.
Results stay in memory, an error ends the loop, and nothing resumes it.
"""

import asyncio
import json
import sys
import time
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, TCPConnector

Json = dict[str, Any]


async def play_all(environment: str, policy: str, attempts: int, places: int, turns: int) -> Json:
    """Plays tasks 0 to `attempts` - 1 with at most `places` at once."""
    numbers = iter(range(attempts))
    rewards: dict[int, float] = {}

    async def fill_place() -> None:
        for number in numbers:
            async with session.ws_connect(f"{environment}/ws") as socket:
                rewards[number] = await play(socket, number)

    async def play(socket: ClientWebSocketResponse, number: int) -> float:
        observed = await ask(socket, {"type": "reset", "data": {"seed": number}})
        messages = [{"role": "user", "content": observed["observation"]["text"]}]
        for _ in range(turns):
            body = {
                "model": "bench",
                "messages": messages,
                "seed": number,
                "max_tokens": 16,
                "logprobs": True,
            }
            async with session.post(f"{policy}/v1/chat/completions", json=body) as response:
                action = (await response.json())["choices"][0]["message"]["content"]
            observed = await ask(socket, {"type": "step", "data": {"text": action}})
            messages += [
                {"role": "assistant", "content": action},
                {"role": "user", "content": observed["observation"]["text"]},
            ]
        return float(observed["reward"])

    clock, cpu = time.perf_counter(), time.process_time()
    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        await asyncio.gather(*(fill_place() for _ in range(places)))
    if set(rewards.values()) != {1.0} or len(rewards) != attempts:
        raise RuntimeError(
            f"{len(rewards)} of {attempts} attempts ended, with rewards {set(rewards.values())}"
        )
    return {"seconds": time.perf_counter() - clock, "cpuSeconds": time.process_time() - cpu}


async def ask(socket: ClientWebSocketResponse, message: Json) -> Json:
    """Sends a message to the environment and returns its observation."""
    await socket.send_json(message)
    answer: Json = await socket.receive_json()
    return dict(answer["data"])


if __name__ == "__main__":
    environment, policy, *counts = sys.argv[1:]
    attempts, places, turns = map(int, counts)
    print(json.dumps(asyncio.run(play_all(environment, policy, attempts, places, turns))))
