"""The attempts of bench:service in a plain asyncio loop: their cost without any guarantee.

`python bare_loop.py ENVIRONMENT_URL POLICY_URL PLACES TURNS` prints `ready`, reads `{"attempts"}` and prints
`{"seconds", "rewards"}`, line by line. Results stay in memory, an error ends the loop, and nothing resumes
it.
"""

import asyncio
import json
import sys
import time
from typing import Any

from attempt import Servers, Turn


async def main(environment: str, policy: str, places: int, turns: int) -> None:
    servers = Servers(environment, policy)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        attempts = json.loads(line)["attempts"]
        print(json.dumps(await play_all(servers, attempts, places, turns)), flush=True)


async def play_all(servers: Servers, attempts: int, places: int, turns: int) -> dict[str, Any]:
    """Plays tasks 0 to `attempts` - 1 with at most `places` at once."""
    numbers = iter(range(attempts))
    rewards: dict[int, float] = {}

    async def fill_place() -> None:
        for number in numbers:
            rewards[number] = await play(servers, number, turns)

    clock = time.perf_counter()
    await asyncio.gather(*(fill_place() for _ in range(places)))
    return {"seconds": time.perf_counter() - clock, "rewards": list(rewards.values())}


async def play(servers: Servers, number: int, turns: int) -> float:
    played: list[Turn] = []
    async with servers.attempt(number) as attempt:
        for _ in range(turns):
            played.append(await attempt.play_turn(played))
    return played[-1]["reward"]


if __name__ == "__main__":
    _, environment, policy, places, turns = sys.argv
    asyncio.run(main(environment, policy, int(places), int(turns)))
