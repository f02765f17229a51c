"""Token-protected routes of the data jobs: tasks with their gold, variants, new ones, gold as played."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coevolve_environments.protocol import (
    RELATIONS,
    SPLITS,
    BadRequest,
    CapacityReached,
    ComposedTask,
    Json,
    NotSupported,
    Refusal,
    Relation,
)
from coevolve_environments.server.compose_task import compose_task
from coevolve_environments.server.gold_episode import GoldEpisode, form_field, formed
from coevolve_environments.server.request_body import (
    count_field,
    integer_field,
    object_field,
    read_body,
    split_field,
    text_field,
    texts_field,
)
from coevolve_environments.sessions.hosted_environment import HostedEnvironment

MAX_COUNT = 20_000
MAX_PARENTS = 2_000
DRAW_SECONDS = 100.0
MAX_PLAYED = 200
"""Gold episodes of one request."""
PLAY_SECONDS = 100.0
"""Of one gold episode."""

Handler = Callable[[Request], Awaitable[Response]]


def data_routes(host: HostedEnvironment, *, open_to_callers: bool) -> list[BaseRoute]:
    """The five routes; all answer 403 when the server has no token, because they give the gold away."""

    def guarded(handler: Handler) -> Handler:
        async def guard(request: Request) -> Response:
            if not open_to_callers:
                raise HTTPException(403, "data routes need a server started with --token-file")
            return await handler(request)

        return guard

    return [
        Route("/data/capabilities", guarded(_capabilities(host))),
        Route("/data/tasks", guarded(_tasks(host)), methods=["POST"]),
        Route("/data/variants", guarded(_variants(host)), methods=["POST"]),
        Route("/data/compose", guarded(_compose(host)), methods=["POST"]),
        Route("/data/gold", guarded(_gold(host)), methods=["POST"]),
    ]


def _capabilities(host: HostedEnvironment) -> Handler:
    async def describe(_: Request) -> Response:
        environment = host.environment
        capabilities = asdict(environment.capabilities)
        return JSONResponse(
            {
                "name": environment.name,
                **capabilities,
                "splits": list(SPLITS),
                "license": environment.license,
            }
        )

    return describe


def _tasks(host: HostedEnvironment) -> Handler:
    async def tasks(request: Request) -> Response:
        body = await read_body(request, {"split", "count", "seed", "options", "form"})
        split, count, seed = split_field(body), count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)

        def draw() -> Response:  # writes the JSON too: thousands of tasks are no work for the event loop
            drawn = host.environment.tasks(split, count, seed, options)
            return JSONResponse({"tasks": [asdict(formed(record, form)) for record in drawn]})

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return tasks


def _variants(host: HostedEnvironment) -> Handler:
    async def variants(request: Request) -> Response:
        body = await read_body(request, {"parents", "relation", "count", "seed", "options", "form"})
        if not host.environment.capabilities.variants:
            raise NotSupported(f"{host.environment.name} declares no generator of task variants")
        parents, relation = _parents(body), _relation(body)
        count, seed = count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)

        def draw() -> Response:
            drawn = host.environment.variants(parents, relation, count, seed, options)
            return JSONResponse(
                {"tasks": [{**asdict(formed(v.record, form)), "parent": v.parent} for v in drawn]}
            )

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return variants


def _compose(host: HostedEnvironment) -> Handler:
    async def compose(request: Request) -> Response:
        body = await read_body(request, {"parent", "query", "actions", "options", "form"})
        if not host.environment.capabilities.compose:
            raise NotSupported(f"{host.environment.name} composes no tasks")
        parent, options = object_field(body, "parent"), object_field(body, "options")
        query, actions = text_field(body, "query"), texts_field(body, "actions")
        form = form_field(body)

        def make() -> ComposedTask | Refusal:
            return compose_task(host.environment, parent, query, actions, options)

        made = await host.call(make, DRAW_SECONDS)
        if isinstance(made, ComposedTask):
            return JSONResponse({"task": {**asdict(formed(made.record, form)), "grader": made.grader}})
        return JSONResponse({"refused": asdict(made)})

    return compose


def _gold(host: HostedEnvironment) -> Handler:
    """Draws `count` tasks and plays those from `start` up to `stop`: a long draw is asked for in parts."""

    async def gold(request: Request) -> Response:
        body = await read_body(request, {"split", "count", "seed", "options", "form", "start", "stop"})
        if not host.environment.capabilities.gold:
            raise NotSupported(f"{host.environment.name} has no reference actions to play")
        split, count, seed = split_field(body), count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)
        start, stop = _part(body, count)
        drawn = await host.call_in_thread(
            lambda: host.environment.tasks(split, count, seed, options), DRAW_SECONDS
        )
        plays = [GoldEpisode(host.environment, formed(record, form)) for record in drawn[start:stop]]
        return JSONResponse({"trajectories": [await _played(host, play) for play in plays]})

    return gold


def _part(body: Json, count: int) -> tuple[int, int]:
    start, stop = integer_field(body, "start", 0), integer_field(body, "stop", count)
    if not 0 <= start <= stop <= count or stop - start > MAX_PLAYED:
        raise BadRequest(
            f"`start` and `stop` must be in 0..{count} and at most {MAX_PLAYED} apart, got {start} and {stop}"
        )
    return start, stop


async def _played(host: HostedEnvironment, play: GoldEpisode) -> Json:
    """An inline environment plays on the event loop, which it leaves between two episodes."""
    await asyncio.sleep(0)
    try:
        return await host.call(play.run, PLAY_SECONDS)
    except TimeoutError:
        await host.end_episode(play.stop)
        raise HTTPException(504, f"a gold episode takes more than {PLAY_SECONDS:g} s") from None
    except CapacityReached as reached:
        raise HTTPException(503, str(reached)) from None


def _parents(body: Json) -> list[Json]:
    parents = body.get("parents", [])
    if not isinstance(parents, list) or not all(isinstance(parent, dict) for parent in parents):
        raise BadRequest("`parents` must be a list of task definitions")
    if len(parents) > MAX_PARENTS:
        raise BadRequest(f"`parents` must be at most {MAX_PARENTS}, got {len(parents)}")
    return parents


def _relation(body: Json) -> Relation:
    if body.get("relation") not in RELATIONS:
        raise BadRequest(f"`relation` must be one of {', '.join(RELATIONS)}, got {body.get('relation')!r}")
    return cast(Relation, body["relation"])
