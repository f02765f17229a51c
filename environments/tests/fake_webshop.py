"""A FAKE WebShop for tests of the adapter only: three invented products and AgentGym's HTTP routes.

It is not the benchmark, and its figures are no results.

python fake_webshop.py PORT [--without-close] [--one-number] [--drawn-prices]
With --drawn-prices each session draws the price limits of its goals again, as WebShop's goals of people do.
The searches `crash`, `stall`, `odd` and `forget` end the process, respond after 30 s, return an invalid
reward, and lose all sessions as a restart does.
"""

import asyncio
import itertools
import os
import sys
import time
from dataclasses import dataclass, field, replace

from aiohttp import web

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


DRAWN_PRICES = [50.0, 30.0, 70.0]
"""Price limits in the order of the sessions; as in a draw, they come again."""


@dataclass
class Session:
    goal: Goal = GOALS[0]
    price_below: float | None = None
    """Limit that this session has drawn; None for those of the goals."""
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
        """WebShop's published form: matched attributes, options and price over all of them, times type."""
        parts = len(self.goal.attributes & product.attributes)
        parts += (self.color == self.goal.color) + (product.price <= self.goal.price_below)
        return parts / (len(self.goal.attributes) + 2) * (1.0 if product.kind == self.goal.kind else 0.5)


sessions: dict[int, Session] = {}
numbers = itertools.count(101)


async def sign(_: web.Request) -> web.Response:
    return web.json_response(SIGN)


async def list_envs(_: web.Request) -> web.Response:
    return web.json_response(list(sessions))


async def create(_: web.Request) -> web.Response:
    number = 101 if "--one-number" in sys.argv else next(numbers)
    drawn = DRAWN_PRICES[number % len(DRAWN_PRICES)] if "--drawn-prices" in sys.argv else None
    sessions.setdefault(number, Session(price_below=drawn))
    return web.json_response(number)


async def reset(request: web.Request) -> web.Response:
    body = await request.json()
    if body["env_idx"] not in sessions:
        return web.json_response({"detail": f"KeyError: {body['env_idx']}"}, status=500)
    goal, drawn = GOALS[body["session_id"]], sessions[body["env_idx"]].price_below
    goal = goal if drawn is None else replace(goal, price_below=drawn)
    sessions[body["env_idx"]] = session = Session(goal, drawn)
    return web.json_response([session.page(), None])


def step(body: dict[str, object]) -> web.Response:
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
    return web.json_response({"state": session.page(), "reward": reward, "done": done, "info": None})


async def step_route(request: web.Request) -> web.Response:
    return await asyncio.to_thread(step, await request.json())


async def close(request: web.Request) -> web.Response:
    number = (await request.json())["env_idx"]
    return web.json_response({"closed": sessions.pop(number, None) is not None})


def main() -> None:
    app = web.Application()
    app.add_routes(
        [
            web.get("/", sign),
            web.get("/list_envs", list_envs),
            web.post("/create", create),
            web.post("/reset", reset),
            web.post("/step", step_route),
        ]
    )
    if "--without-close" not in sys.argv:
        app.add_routes([web.post("/close", close)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)


if __name__ == "__main__":
    main()
