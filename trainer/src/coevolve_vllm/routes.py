"""Routes that vLLM does not have: turns of attempts, and devices for training jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from coevolve_policy_server.api_errors import ApiError
from coevolve_policy_server.app import Handler, read_json, read_strings

from .backend import VllmBackend

HEARTBEAT_S = 5.0
"""Interval of the lines of a turn, so that neither side takes the other for dead."""


def routes(backend: VllmBackend) -> dict[str, Handler]:
    """Returns the handlers of POST requests by their paths."""

    async def turn(request: Request) -> Response:
        name, path = read_strings(await read_json(request), "lora_name", "lora_path")
        return StreamingResponse(_lines(backend, request, name, Path(path)), media_type="application/jsonl")

    async def release(request: Request) -> Response:
        body = await read_json(request)
        devices = body.get("devices") if isinstance(body, dict) else None
        if not isinstance(devices, list) or not all(isinstance(index, int) for index in devices):
            raise ApiError(400, "invalid_value", "devices: expected a list of indices", param="devices")
        await backend.release(devices)
        return JSONResponse({"released": devices})

    return {"/v1/turns": turn, "/v1/devices/release": release}


async def _lines(
    backend: VllmBackend, request: Request, policy_hash: str, folder: Path
) -> AsyncIterator[str]:
    """Yields the state of a turn as lines of JSON; the turn ends when the client closes the connection."""
    state = {"state": "waiting"}
    granted = asyncio.Event()

    async def hold() -> None:
        async with backend.turn(policy_hash, folder, lambda reason: state.update(reason=reason)):
            granted.set()
            await asyncio.Event().wait()  # until it is cancelled

    holding, grant = asyncio.create_task(hold()), asyncio.create_task(granted.wait())
    disconnect = asyncio.ensure_future(request.receive())  # after the body, the only further message
    events: tuple[asyncio.Future[Any], ...] = (holding, disconnect, grant)
    try:
        await asyncio.wait(events, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        while not holding.done() and not disconnect.done():
            yield json.dumps({"state": "granted"} if granted.is_set() else state) + "\n"
            events = (holding, disconnect) if granted.is_set() else events
            await asyncio.wait(events, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
        if holding.done():
            yield json.dumps({"state": "failed", "reason": str(holding.exception())}) + "\n"
    finally:
        for task in (holding, grant, disconnect):
            task.cancel()
