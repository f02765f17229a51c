"""The HTTP routes, compatible with vLLM's version of the OpenAI API."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .api_errors import ApiError
from .chat_request import ChatRequest, parse_chat_request
from .completion import Completion, completion_body

Handler = Callable[[Request], Awaitable[Response]]


class Backend(Protocol):
    """The inference engine: this package's, or vLLM. All methods raise ApiError for invalid requests."""

    @property
    def policies(self) -> Sequence[str]:
        """Hashes of the loaded policies."""

    def health(self) -> dict[str, object]:
        """Returns further fields for /health, in addition to `status` and the number of policies."""

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Loads the policy in `folder` under its hash; loading it again changes nothing."""

    async def unload(self, policy_hash: str) -> None:
        """Accepts no new request for the policy; running requests are completed."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Generates a completion; cancelled when the client disconnects."""

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Returns a context that is active while the server runs."""


def create_app(
    backend: Backend, *, token: str | None, more: Mapping[str, Handler] | None = None
) -> Starlette:
    """Returns the application. With a token, every route except /health requires `Authorization: Bearer`.

    Args:
        more: further handlers of POST requests by their paths.
    """

    async def health(_: Request) -> Response:
        status = {"status": "healthy", "policies": len(backend.policies)}
        return JSONResponse(status | backend.health())

    async def models(_: Request) -> Response:
        data = [{"id": name, "object": "model", "owned_by": "coevolve"} for name in backend.policies]
        return JSONResponse({"object": "list", "data": data})

    async def load(request: Request) -> Response:
        name, path = read_strings(await read_json(request), "lora_name", "lora_path")
        await backend.load(name, Path(path))
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    async def unload(request: Request) -> Response:
        (name,) = read_strings(await read_json(request), "lora_name")
        await backend.unload(name)
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")

    async def complete(request: Request) -> Response:
        chat_request = parse_chat_request(await read_json(request))
        completion = asyncio.ensure_future(backend.complete(chat_request))
        # After the body, the only further message is the client's disconnect
        disconnect = asyncio.ensure_future(request.receive())
        await asyncio.wait((completion, disconnect), return_when=asyncio.FIRST_COMPLETED)
        disconnect.cancel()
        if not completion.done():
            completion.cancel()
            return Response(status_code=499)
        return JSONResponse(completion_body(chat_request, completion.result()))

    def guarded(handler: Handler) -> Handler:
        async def respond(request: Request) -> Response:
            try:
                _authorize(request, token)
                return await handler(request)
            except RecursionError:
                error = ApiError(400, "invalid_json", "the body is nested too deep")
                return JSONResponse(error.body(), error.status)
            except ApiError as error:
                headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
                return JSONResponse(error.body(), error.status, headers)

        return respond

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with backend.running():
            yield

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/health", health),
            Route("/v1/models", guarded(models)),
            Route("/v1/load_lora_adapter", guarded(load), methods=["POST"]),
            Route("/v1/unload_lora_adapter", guarded(unload), methods=["POST"]),
            Route("/v1/chat/completions", guarded(complete), methods=["POST"]),
            *(Route(path, guarded(handler), methods=["POST"]) for path, handler in (more or {}).items()),
        ],
    )


def _authorize(request: Request, token: str | None) -> None:
    given = request.headers.get("authorization", "")
    if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise ApiError(401, "invalid_api_key", "Authorization header: expected the server's token")


async def read_json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except ValueError as error:
        raise ApiError(400, "invalid_json", f"the body is not JSON: {error}") from None


def read_strings(body: Any, *names: str) -> list[str]:
    for name in names:
        if not isinstance(body, dict) or not isinstance(body.get(name), str):
            raise ApiError(400, "invalid_value", f"{name}: expected a string", param=name)
    return [body[name] for name in names]
