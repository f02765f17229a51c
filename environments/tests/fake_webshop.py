"""A FAKE WebShop, for the contract of the adapter only: three made-up products behind AgentGym's HTTP routes.

It is not the benchmark, and no figure may come from it.

python fake_webshop.py PORT [--without-close] [--one-number]
The searches `crash`, `stall`, `odd` and `forget` end the process, answer after 30 s, answer an impossible
reward, and lose all sessions as a restart does.
"""

import itertools
import os
import sys
import time
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SIGN = "FAKE WebShop, no benchmark"


@dataclass(frozen=True)
class Product:
    name: str
    kind: str
    attributes: frozenset[str]
    colors: tuple[str, ...]
    price: float


PRODUCTS = {
    "fake0001": Product("Made-up wool scarf", "scarf", frozenset({"wool", "soft"}), ("red", "grey"), 18.0),
    "fake0002": Product("Made-up silk scarf", "scarf", frozenset({"silk", "soft"}), ("red", "white"), 42.0),
    "fake0003": Product("Made-up tin kettle", "kettle", frozenset({"tin"}), ("blue",), 9.5),
}


@dataclass(frozen=True)
class Goal:
    kind: str
    attributes: frozenset[str]
    color: str
    price_below: float

    @property
    def instruction(self) -> str:
        wanted = " ".join(sorted(self.attributes))
        return f"a {wanted} {self.kind} in {self.color}, and price lower than {self.price_below:.2f} dollars"


GOALS = [
    Goal("scarf", frozenset({"wool", "soft"}), "grey", 30.0),
    Goal("scarf", frozenset({"silk", "soft"}), "white", 60.0),
    Goal("kettle", frozenset({"tin"}), "blue", 20.0),
]


@dataclass
class Session:
    goal: Goal = GOALS[0]
    product: str | None = None
    color: str | None = None
    found: list[str] = field(default_factory=list)

    def page(self) -> str:
        if self.product is not None:
            product = PRODUCTS[self.product]
            shown = [product.name, f"Price: ${product.price}", "color", *product.colors, "Buy Now"]
        else:
            shown = self.found or ["Search"]
        return " [SEP] ".join([SIGN, "Instruction:", self.goal.instruction, *shown])

    def act(self, name: str, value: str) -> tuple[float, bool]:
        if name == "search" and self.product is None:
            self.found = [key for key, p in PRODUCTS.items() if set(value.split()) & {p.kind, *p.attributes}]
        elif name == "click" and value in self.found:
            self.product = value
        elif name == "click" and self.product is not None and value in PRODUCTS[self.product].colors:
            self.color = value
        elif name == "click" and self.product is not None and value == "buy now":
            return self.reward(PRODUCTS[self.product]), True
        return 0.0, False

    def reward(self, product: Product) -> float:
        """WebShop's published shape: matched attributes, options and price over all of them, times type."""
        parts = len(self.goal.attributes & product.attributes)
        parts += (self.color == self.goal.color) + (product.price <= self.goal.price_below)
        return parts / (len(self.goal.attributes) + 2) * (1.0 if product.kind == self.goal.kind else 0.5)


sessions: dict[int, Session] = {}
numbers = itertools.count(101)


async def sign(_: Request) -> Response:
    return JSONResponse(SIGN)


async def list_envs(_: Request) -> Response:
    return JSONResponse(list(sessions))


async def create(_: Request) -> Response:
    number = 101 if "--one-number" in sys.argv else next(numbers)
    sessions.setdefault(number, Session())
    return JSONResponse(number)


async def reset(request: Request) -> Response:
    body = await request.json()
    if body["env_idx"] not in sessions:
        return JSONResponse({"detail": f"KeyError: {body['env_idx']}"}, 500)
    sessions[body["env_idx"]] = session = Session(GOALS[body["session_id"]])
    return JSONResponse([session.page(), None])


def step(body: dict[str, object]) -> Response:
    name, _, value = str(body["action"])[:-1].partition("[")
    if value == "crash":
        os._exit(3)
    if value == "stall":
        time.sleep(30)
    session = sessions[int(str(body["env_idx"]))]
    reward, done = session.act(name, value.lower())
    if value == "forget":
        sessions.clear()
    if value == "odd":
        reward, done = 7.0, True
    return JSONResponse({"state": session.page(), "reward": reward, "done": done, "info": None})


async def step_route(request: Request) -> Response:
    import asyncio

    return await asyncio.to_thread(step, await request.json())


async def close(request: Request) -> Response:
    number = (await request.json())["env_idx"]
    return JSONResponse({"closed": sessions.pop(number, None) is not None})


def main() -> None:
    routes = [
        Route("/", sign),
        Route("/list_envs", list_envs),
        Route("/create", create, methods=["POST"]),
        Route("/reset", reset, methods=["POST"]),
        Route("/step", step_route, methods=["POST"]),
    ]
    if "--without-close" not in sys.argv:
        routes.append(Route("/close", close, methods=["POST"]))
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_config=None)


if __name__ == "__main__":
    main()
