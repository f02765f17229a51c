"""A FAKE env-service for tests of the adapter only: AgentEvolver's routes with an invented task.

It is none of AgentEvolver's environments, and its figures are no results.

python fake_env_service.py PORT [SECRET]
The texts `crash` and `refuse` end the process and return status 500; `leave` terminates unsolved.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.Response]]

SIGN = "FAKE env-service, no benchmark"
SPLITS = {"train": ["1", "2", "3", "shared"], "dev": ["shared", "4"]}


@dataclass
class Instance:
    wanted: int
    answer: int = 0

    def state(self, role: str, text: str, *, terminated: bool = False) -> dict[str, object]:
        info = {"fake": SIGN}
        return {
            "state": [{"role": role, "content": text}],
            "is_terminated": terminated,
            "info": info,
            "reward": 9,
        }


instances: dict[str, Instance] = {}


def success(data: object) -> web.Response:
    return web.json_response({"success": True, "data": data})


async def root(_: web.Request) -> web.Response:
    return web.json_response({"sign": SIGN, "instances": len(instances)})


async def healthz(_: web.Request) -> web.Response:
    return web.Response(text="OK")


async def profile(request: web.Request) -> web.Response:
    body = await request.json()
    if body["env_type"] != "sums":
        return web.json_response({"detail": f"ValueError: unknown env_type {body['env_type']}"}, status=500)
    return success(SPLITS[body["params"]["split"]])


async def create(request: web.Request) -> web.Response:
    body = await request.json()
    instance = instances[body["instance_id"]] = Instance(len(body["task_id"]))
    return success(instance.state("user", f"{SIGN}: how long is the name of task {body['task_id']}?"))


async def step(request: web.Request) -> web.Response:
    body = await request.json()
    instance, content = instances[body["instance_id"]], body["messages"]["content"]
    if content == "crash":
        os._exit(3)
    if content == "refuse":
        return web.json_response({"detail": "Traceback\n  File somewhere\nKeyError: 'made up'"}, status=500)
    if content == "leave":
        return success(instance.state("assistant", "you left", terminated=True))
    instance.answer = int(content) if content.isdigit() else -1
    right = instance.answer == instance.wanted
    return success(instance.state("assistant", "right" if right else "wrong", terminated=right))


async def evaluate(request: web.Request) -> web.Response:
    body = await request.json()
    instance = instances[body["instance_id"]]
    score = float(instance.answer == instance.wanted)
    return success(score if body["params"]["sparse"] else {"accuracy": score})


async def release(request: web.Request) -> web.Response:
    found = instances.pop((await request.json())["instance_id"], None)
    return web.json_response({"success": found is not None, "data": None})


def guarded(handler: Handler) -> Handler:
    """Requires the secret, if there is one, in every request."""

    async def guard(request: web.Request) -> web.Response:
        if sys.argv[2:] not in ([], [request.headers.get("x-secret")]):
            return web.json_response({"detail": "no secret"}, status=401)
        return await handler(request)

    return guard


def main() -> None:
    handlers = {
        "/get_env_profile": profile,
        "/create": create,
        "/step": step,
        "/evaluate": evaluate,
        "/release": release,
    }
    app = web.Application()
    app.add_routes([web.get("/", root), web.get("/healthz", healthz)])
    app.add_routes([web.post(path, guarded(handler)) for path, handler in handlers.items()])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)


if __name__ == "__main__":
    main()
