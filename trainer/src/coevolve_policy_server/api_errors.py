"""Errors as an OpenAI client expects them."""

from __future__ import annotations

from collections.abc import Sequence


class ApiError(Exception):
    """A refusal: HTTP status, OpenAI's `code`, the parameter at fault if any, and seconds to wait."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.retry_after = status, code, param, retry_after

    def body(self) -> dict[str, object]:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def room_left(context: int, prompt_ids: Sequence[int]) -> int:
    """Tokens left for an answer; raises ApiError `context_length_exceeded` when there is not one."""
    room = context - len(prompt_ids)
    if room < 1:
        message = f"This model's context is {context} tokens; the messages are {len(prompt_ids)} tokens."
        raise ApiError(400, "context_length_exceeded", message, param="messages")
    return room


def unknown_model(name: str) -> ApiError:
    return ApiError(404, "model_not_found", f"The model `{name}` does not exist.", param="model")
