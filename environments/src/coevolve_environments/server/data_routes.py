"""Token-protected data routes: tasks with gold, variants, composed tasks, played gold episodes."""

import asyncio
from dataclasses import asdict

from aiohttp import web

from coevolve_environments.plugins.validation import one_of
from coevolve_environments.protocol import (
    RELATIONS,
    SPLITS,
    BadRequest,
    ComposedTask,
    Json,
    NotSupported,
    Refusal,
)
from coevolve_environments.server.compose_task import compose_task
from coevolve_environments.server.gold_episode import GoldEpisode, form_field, with_form
from coevolve_environments.server.json_bodies import (
    count_field,
    integer_field,
    object_field,
    read_body,
    split_field,
    text_field,
    texts_field,
)
from coevolve_environments.server.responses import Handler, respond
from coevolve_environments.sessions.hosted_environment import HostedEnvironment

MAX_COUNT = 20_000
MAX_PARENTS = 2_000
DRAW_SECONDS = 100.0
MAX_GOLD_EPISODES = 200
"""Per request."""
PLAY_SECONDS = 100.0
"""Timeout of one gold episode."""


def data_routes(prefix: str, host: HostedEnvironment, *, has_token: bool) -> list[web.RouteDef]:
    """Returns the five routes. All respond 403 if the server has no token, because they expose gold."""

    def guarded(handler: Handler) -> Handler:
        async def guard(request: web.Request) -> web.StreamResponse:
            if not has_token:
                raise web.HTTPForbidden(text="data routes are closed: start the server with --token-file")
            return await handler(request)

        return guard

    return [
        web.get(f"{prefix}/data/capabilities", guarded(_capabilities(host))),
        web.post(f"{prefix}/data/tasks", guarded(_tasks(host))),
        web.post(f"{prefix}/data/variants", guarded(_variants(host))),
        web.post(f"{prefix}/data/compose", guarded(_compose(host))),
        web.post(f"{prefix}/data/gold", guarded(_gold(host))),
    ]


def _capabilities(host: HostedEnvironment) -> Handler:
    async def describe(_: web.Request) -> web.Response:
        environment = host.environment
        capabilities = asdict(environment.capabilities)
        return respond(
            {
                "name": environment.name,
                **capabilities,
                "splits": list(SPLITS),
                "license": environment.license,
                "spec_defaults": asdict(environment.spec_defaults),
            }
        )

    return describe


def _tasks(host: HostedEnvironment) -> Handler:
    async def tasks(request: web.Request) -> web.Response:
        body = await read_body(request, {"split", "count", "seed", "options", "form"})
        split, count, seed = split_field(body), count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)

        def draw() -> web.Response:  # encodes JSON too: thousands of tasks would block the event loop
            drawn = host.environment.tasks(split, count, seed, options)
            return respond({"tasks": [asdict(with_form(record, form)) for record in drawn]})

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return tasks


def _variants(host: HostedEnvironment) -> Handler:
    async def variants(request: web.Request) -> web.Response:
        body = await read_body(request, {"parents", "relation", "count", "seed", "options", "form"})
        if not host.environment.capabilities.variants:
            raise NotSupported(f"{host.environment.name} has no generator of task variants")
        parents, relation = _parents(body), one_of(body.get("relation"), "relation", RELATIONS)
        count, seed = count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)

        def draw() -> web.Response:
            drawn = host.environment.variants(parents, relation, count, seed, options)
            return respond(
                {"tasks": [{**asdict(with_form(v.record, form)), "parent": v.parent} for v in drawn]}
            )

        return await host.call_in_thread(draw, DRAW_SECONDS)

    return variants


def _compose(host: HostedEnvironment) -> Handler:
    async def compose(request: web.Request) -> web.Response:
        body = await read_body(request, {"parent", "query", "actions", "options", "form"})
        parent, options = object_field(body, "parent"), object_field(body, "options")
        query, actions = text_field(body, "query"), texts_field(body, "actions")
        form = form_field(body)

        def make() -> ComposedTask | Refusal:
            return compose_task(host.environment, parent, query, actions, options)

        result = await host.call(make, DRAW_SECONDS)
        if isinstance(result, ComposedTask):
            task = {**asdict(with_form(result.record, form)), "grader": result.grader}
            return respond({"task": task})
        return respond({"refused": asdict(result)})

    return compose


def _gold(host: HostedEnvironment) -> Handler:
    """Draws `count` tasks and plays those from `start` to `stop`: callers can split a long draw."""

    async def gold(request: web.Request) -> web.Response:
        body = await read_body(request, {"split", "count", "seed", "options", "form", "start", "stop"})
        if not host.environment.capabilities.gold:
            raise NotSupported(f"{host.environment.name} has no reference actions")
        split, count, seed = split_field(body), count_field(body, MAX_COUNT), integer_field(body, "seed")
        options, form = object_field(body, "options"), form_field(body)
        start, stop = _range(body, count)
        drawn = await host.call_in_thread(
            lambda: host.environment.tasks(split, count, seed, options), DRAW_SECONDS
        )
        episodes = [GoldEpisode(host.environment, with_form(record, form)) for record in drawn[start:stop]]
        return respond({"trajectories": [await _play(host, episode) for episode in episodes]})

    return gold


def _range(body: Json, count: int) -> tuple[int, int]:
    start, stop = integer_field(body, "start", 0), integer_field(body, "stop", count)
    if not 0 <= start <= stop <= count or stop - start > MAX_GOLD_EPISODES:
        raise BadRequest(
            f"`start` and `stop` must be in 0..{count} and at most {MAX_GOLD_EPISODES} apart, "
            f"got {start} and {stop}"
        )
    return start, stop


async def _play(host: HostedEnvironment, episode: GoldEpisode) -> Json:
    """Yields to the event loop first, because an inline environment plays on it."""
    await asyncio.sleep(0)
    try:
        return await host.call(episode.play, PLAY_SECONDS)
    except TimeoutError:
        await host.end_episode(episode.stop)
        raise TimeoutError(f"a gold episode took more than {PLAY_SECONDS:g} s") from None


def _parents(body: Json) -> list[Json]:
    parents = body.get("parents", [])
    if not isinstance(parents, list) or not all(isinstance(parent, dict) for parent in parents):
        raise BadRequest("`parents` must be a list of task definitions")
    if len(parents) > MAX_PARENTS:
        raise BadRequest(f"`parents` must be at most {MAX_PARENTS}, got {len(parents)}")
    return parents
