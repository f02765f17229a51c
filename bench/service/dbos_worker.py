"""The attempts of bench:service as workflows of DBOS, each turn a step, in a queue.

`python dbos_worker.py ENVIRONMENT_URL POLICY_URL PLACES TURNS DATABASE_URL` prints `ready` and answers
commands, each in a line: `{"run", "attempts"}` puts attempts into the queue, `{"results": run}` returns the
stored rewards. DBOS commits the result of a step before the next one begins, and the reward with the end of
the workflow. A started process takes back the workflows of its killed predecessor, which had the same
executor id, and continues them after their stored steps.
"""

import asyncio
import json
import sys
from typing import Any

from attempt import Servers, Turn
from dbos import DBOS, DBOSConfig, SetWorkflowID

QUEUE = "attempts"
# The default is a second, half of which a free place would wait. Of 5, 20 and 100 ms this one had the
# shortest rollouts; it costs up to a tenth more processor time.
POLLING_SECONDS = 0.005
ENQUEUED_AT_ONCE = 16

servers: Servers
turns_of_attempt: int


@DBOS.workflow()
async def play(number: int) -> float:
    played: list[Turn] = []
    async with servers.attempt(number) as attempt:
        for _ in range(turns_of_attempt):
            played.append(await DBOS.run_step_async({"name": "turn"}, attempt.play_turn, played))
    return played[-1]["reward"]


async def enqueue(run: str, attempts: int) -> dict[str, Any]:
    """Puts tasks 0 to `attempts` - 1 into the queue, once each: their number is part of the workflow's id."""
    numbers = iter(range(attempts))

    async def enqueue_some() -> None:
        for number in numbers:
            with SetWorkflowID(f"{run}-{number}"):
                await DBOS.enqueue_workflow_async(QUEUE, play, number)

    await asyncio.gather(*(enqueue_some() for _ in range(ENQUEUED_AT_ONCE)))
    return {"enqueued": attempts}


async def results(run: str) -> dict[str, Any]:
    stored = await DBOS.list_workflows_async(workflow_id_prefix=f"{run}-", status="SUCCESS")
    return {
        "ids": [workflow.workflow_id for workflow in stored],
        "rewards": [workflow.output for workflow in stored],
    }


async def serve() -> None:
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        answer = results(command["results"]) if "results" in command else enqueue(**command)
        print(json.dumps(await answer), flush=True)


def main(environment: str, policy: str, places: int, turns: int, database: str) -> None:
    global servers, turns_of_attempt
    servers, turns_of_attempt = Servers(environment, policy), turns
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": database,
        "executor_id": "worker",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=places, polling_interval_sec=POLLING_SECONDS)
    asyncio.run(serve())


if __name__ == "__main__":
    _, environment, policy, places, turns, database = sys.argv
    main(environment, policy, int(places), int(turns), database)
