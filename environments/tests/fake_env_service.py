"""A FAKE env-service, for the contract of the adapter only: AgentEvolver's routes over a made-up sum.

It is none of AgentEvolver's environments, and no figure may come from it.

python fake_env_service.py PORT [SECRET]
The texts `crash` and `refuse` end the process and are answered by status 500; `leave` terminates unsolved.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

Handler = Callable[[Request], Awaitable[Response]]

SIGN = "FAKE env-service, no benchmark"
SPLITS = {"train": ["1", "2", "3", "shared"], "dev": ["shared", "4"]}


@dataclass
class Instance:
    wanted: int
    said: int = 0

    def state(self, role: str, text: str, *, terminated: bool = False) -> dict[str, object]:
        info = {"fake": SIGN}
        return {
            "state": [{"role": role, "content": text}],
            "is_terminated": terminated,
            "info": info,
            "reward": 9,
        }


instances: dict[str, Instance] = {}


def answer(data: object) -> Response:
    return JSONResponse({"success": True, "data": data})


async def root(_: Request) -> Response:
    return JSONResponse({"sign": SIGN, "instances": len(instances)})


async def healthz(_: Request) -> Response:
    return PlainTextResponse("OK")


async def profile(request: Request) -> Response:
    body = await request.json()
    if body["env_type"] != "sums":
        return JSONResponse({"detail": f"ValueError: unknown env_type {body['env_type']}"}, 500)
    return answer(SPLITS[body["params"]["split"]])


async def create(request: Request) -> Response:
    body = await request.json()
    instance = instances[body["instance_id"]] = Instance(len(body["task_id"]))
    return answer(instance.state("user", f"{SIGN}: how long is the name of task {body['task_id']}?"))


async def step(request: Request) -> Response:
    body = await request.json()
    instance, content = instances[body["instance_id"]], body["messages"]["content"]
    if content == "crash":
        os._exit(3)
    if content == "refuse":
        return JSONResponse({"detail": "Traceback\n  File somewhere\nKeyError: 'made up'"}, 500)
    if content == "leave":
        return answer(instance.state("assistant", "you left", terminated=True))
    instance.said = int(content) if content.isdigit() else -1
    right = instance.said == instance.wanted
    return answer(instance.state("assistant", "right" if right else "wrong", terminated=right))


async def evaluate(request: Request) -> Response:
    body = await request.json()
    instance = instances[body["instance_id"]]
    success = float(instance.said == instance.wanted)
    return answer(success if body["params"]["sparse"] else {"accuracy": success})


async def release(request: Request) -> Response:
    found = instances.pop((await request.json())["instance_id"], None)
    return JSONResponse({"success": found is not None, "data": None})


def guarded(handler: Handler) -> Handler:
    """With a secret, every request has to bring it along."""

    async def guard(request: Request) -> Response:
        if sys.argv[2:] not in ([], [request.headers.get("x-secret")]):
            return JSONResponse({"detail": "no secret"}, 401)
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
    posts = [Route(path, guarded(handler), methods=["POST"]) for path, handler in handlers.items()]
    routes = [Route("/", root), Route("/healthz", healthz), *posts]
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_config=None)


if __name__ == "__main__":
    main()
