"""Token-protected routes of the data jobs: whole tasks with their gold, variants of given tasks, new ones."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coevolve_environments.hosting.host import Host
from coevolve_environments.protocol import (
    RELATIONS,
    SPLITS,
    BadRequest,
    Composed,
    Json,
    NotOffered,
    Refusal,
    Relation,
)
from coevolve_environments.wire.composing import compose_task
from coevolve_environments.wire.request_body import (
    count_field,
    integer_field,
    object_field,
    read_body,
    split_field,
    text_field,
    texts_field,
)

MAX_COUNT = 20_000
MAX_PARENTS = 2_000
DRAW_SECONDS = 100.0

Handler = Callable[[Request], Awaitable[Response]]


def data_routes(host: Host, *, open_to_callers: bool) -> list[BaseRoute]:
    """The four routes; all answer 403 when the server has no token, because they give the gold away."""

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
    ]


def _capabilities(host: Host) -> Handler:
    async def capabilities(_: Request) -> Response:
        environment = host.environment
        return JSONResponse(
            {"name": environment.name, **asdict(environment.capabilities), "splits": list(SPLITS)}
        )

    return capabilities


def _tasks(host: Host) -> Handler:
    async def tasks(request: Request) -> Response:
        body = await read_body(request, {"split", "count", "seed", "options"})
        split, count, seed = split_field(body), count_field(body, MAX_COUNT), integer_field(body, "seed")
        options = object_field(body, "options")

        def draw() -> Response:  # writes the JSON too: thousands of tasks are no work for the event loop
            drawn = host.environment.tasks(split, count, seed, options)
            return JSONResponse({"tasks": [asdict(record) for record in drawn]})

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return tasks


def _variants(host: Host) -> Handler:
    async def variants(request: Request) -> Response:
        body = await read_body(request, {"parents", "relation", "count", "seed", "options"})
        if not host.environment.capabilities.variants:
            raise NotOffered(f"{host.environment.name} declares no generator of task variants")
        parents, relation = _parents(body), _relation(body)
        count, seed = count_field(body, MAX_COUNT), integer_field(body, "seed")
        options = object_field(body, "options")

        def draw() -> Response:
            drawn = host.environment.variants(parents, relation, count, seed, options)
            return JSONResponse({"tasks": [{**asdict(v.record), "parent": v.parent} for v in drawn]})

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return variants


def _compose(host: Host) -> Handler:
    async def compose(request: Request) -> Response:
        body = await read_body(request, {"parent", "query", "actions", "options"})
        if not host.environment.capabilities.compose:
            raise NotOffered(f"{host.environment.name} composes no tasks")
        parent, options = object_field(body, "parent"), object_field(body, "options")
        query, actions = text_field(body, "query"), texts_field(body, "actions")

        def make() -> Composed | Refusal:
            return compose_task(host.environment, parent, query, actions, options)

        made = await host.call(make, DRAW_SECONDS)
        if isinstance(made, Composed):
            return JSONResponse({"task": {**asdict(made.record), "grader": made.grader}})
        return JSONResponse({"refused": asdict(made)})

    return compose


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
