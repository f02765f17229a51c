"""The attempts of bench:service as invocations of a Restate service, each turn a durable action.

`python restate_service.py ENVIRONMENT_URL POLICY_URL TURNS PORT` prints `ready` and serves on the loopback
port. Restate's server stores the result of an action before the handler continues, and the result of the
handler under the invocation's idempotency key. After a kill it calls the next process, with the journal of
each invocation that was open.
"""

import asyncio
import sys

import restate
from attempt import Servers, Turn
from hypercorn.asyncio import serve
from hypercorn.config import Config

UNLIMITED = 2147483647

servers: Servers
turns_of_attempt: int
attempts = restate.Service("attempts")


@attempts.handler()
async def play(context: restate.Context, number: int) -> float:
    played: list[Turn] = []
    async with servers.attempt(number) as attempt:
        for _ in range(turns_of_attempt):
            played.append(await context.run_typed("turn", attempt.play_turn, earlier=played))
    return played[-1]["reward"]


def main(environment: str, policy: str, turns: int, port: int) -> None:
    global servers, turns_of_attempt
    servers, turns_of_attempt = Servers(environment, policy), turns
    # As in Restate's documentation for production.
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.h2_max_concurrent_streams = UNLIMITED
    config.keep_alive_max_requests = UNLIMITED
    config.keep_alive_timeout = UNLIMITED
    config.errorlog = None

    async def run() -> None:
        serving = asyncio.create_task(serve(restate.app(services=[attempts]), config))
        print("ready", flush=True)
        await serving

    asyncio.run(run())


if __name__ == "__main__":
    _, environment, policy, turns, port = sys.argv
    main(environment, policy, int(turns), int(port))
