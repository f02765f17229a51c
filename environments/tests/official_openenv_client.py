"""Plays episodes with OpenEnv's own client. Runs in .venv-openenv.

Standard input: {"url", "headers", "episodes": [{"reset": {...}, "actions": [...]}, ...]}, each in a
separate session, all at the same time. Standard output: per episode, its observations in order, as
{"observation", "reward", "done"}.
"""

import asyncio
import json
import sys
from typing import Any

from openenv.core.generic_client import GenericEnvClient

Json = dict[str, Any]


async def play(url: str, headers: dict[str, str], reset: Json, actions: list[Json]) -> list[Json]:
    async with GenericEnvClient(base_url=url, headers=headers) as client:
        results = [await client.reset(**reset)]
        for action in actions:
            results.append(await client.step(action))
        state = await client.state()
        assert state["step_count"] == len(actions), state
        return [{"observation": r.observation, "reward": r.reward, "done": r.done} for r in results]


async def main() -> None:
    wanted = json.load(sys.stdin)
    played = [play(wanted["url"], wanted["headers"], **episode) for episode in wanted["episodes"]]
    json.dump(await asyncio.gather(*played), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
