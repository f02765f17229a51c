"""Errors in the format of the OpenAI API."""

from __future__ import annotations

from collections.abc import Sequence


class ApiError(Exception):
    """An error response: HTTP status, OpenAI's `code`, the wrong parameter, and the seconds until a retry."""

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
        types = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        type_ = types.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": str(self), "type": type_, "param": self.param, "code": self.code}}


def remaining_context(context: int, prompt_ids: Sequence[int]) -> int:
    """Returns the max tokens of a completion; raises ApiError `context_length_exceeded` for less than 1."""
    remaining = context - len(prompt_ids)
    if remaining < 1:
        message = f"This model's context is {context} tokens; the messages are {len(prompt_ids)} tokens."
        raise ApiError(400, "context_length_exceeded", message, param="messages")
    return remaining


def unknown_model(name: str) -> ApiError:
    return ApiError(404, "model_not_found", f"The model `{name}` does not exist.", param="model")
