"""The HTTP routes: vLLM's dialect of the OpenAI protocol."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .api_errors import ApiError
from .chat_request import ChatRequest, parse_chat_request
from .engine import Engine
from .lane import Generation, Lane

Handler = Callable[[Request], Awaitable[Response]]


def create_app(engine: Engine, *, token: str | None) -> Starlette:
    """The server's application. With a token, every route but /health wants it as `Authorization: Bearer`."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "healthy", "policies": len(engine.policies)})

    async def models(_: Request) -> Response:
        data = [{"id": name, "object": "model", "owned_by": "coevolve"} for name in engine.policies]
        return JSONResponse({"object": "list", "data": data})

    async def load(request: Request) -> Response:
        name, path = _texts(await _json(request), "lora_name", "lora_path")
        engine.load(name, Path(path))
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    async def unload(request: Request) -> Response:
        (name,) = _texts(await _json(request), "lora_name")
        engine.unload(name)
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")

    async def complete(request: Request) -> Response:
        wanted = parse_chat_request(await _json(request))
        lane, generation = engine.submit(wanted)
        gone = asyncio.ensure_future(request.receive())  # after the body, a message means the client has left
        await asyncio.wait((generation.done, gone), return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not generation.done.done():
            lane.drop(generation)
            return Response(status_code=499)
        if (error := generation.done.exception()) is not None:
            raise ApiError(500, "generation_failed", f"{type(error).__name__}: {error}")
        return JSONResponse(_completion(wanted, lane, generation))

    def guarded(handler: Handler) -> Handler:
        async def respond(request: Request) -> Response:
            try:
                _authorise(request, token)
                return await handler(request)
            except ApiError as error:
                headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
                return JSONResponse(error.body(), error.status, headers)

        return respond

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loop = asyncio.create_task(engine.advance_forever())
        yield
        loop.cancel()

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/health", health),
            Route("/v1/models", guarded(models)),
            Route("/v1/load_lora_adapter", guarded(load), methods=["POST"]),
            Route("/v1/unload_lora_adapter", guarded(unload), methods=["POST"]),
            Route("/v1/chat/completions", guarded(complete), methods=["POST"]),
        ],
    )


def _completion(request: ChatRequest, lane: Lane, generation: Generation) -> dict[str, Any]:
    content, matched = lane.text_of(generation)
    prompt, answer = len(generation.prompt_ids), len(generation.token_ids)
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "logprobs": None,
        "finish_reason": generation.finish_reason,
        "stop_reason": matched,
    }
    if request.logprobs:
        entries = zip(generation.token_ids, generation.logprobs, strict=True)
        choice["logprobs"] = {
            "content": [
                {**lane.token_entry(token), "logprob": value, "top_logprobs": []} for token, value in entries
            ]
        }
    body: dict[str, Any] = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [choice],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }
    if request.return_token_ids:
        body["prompt_token_ids"] = generation.prompt_ids
        choice["token_ids"] = generation.token_ids
    return body


def _authorise(request: Request, token: str | None) -> None:
    given = request.headers.get("authorization", "")
    if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise ApiError(401, "invalid_api_key", "the Authorization header must carry the server's token")


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except ValueError as error:
        raise ApiError(400, "invalid_json", f"the body is no JSON: {error}") from None


def _texts(body: Any, *names: str) -> list[str]:
    for name in names:
        if not isinstance(body, dict) or not isinstance(body.get(name), str):
            raise ApiError(400, "invalid_value", f"{name}: expected a text", param=name)
    return [body[name] for name in names]
