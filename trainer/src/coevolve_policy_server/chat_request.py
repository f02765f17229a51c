"""Parses a chat completion request strictly: unsupported parameters are rejected by name."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any

from coevolve_trainer.chat.encoder import ChatEncoder, Message, Tool
from coevolve_trainer.failures import JobFailure

from .api_errors import ApiError

ROLES = ("system", "user", "assistant", "tool")
PARAMETERS = (
    "model", "messages", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "stop",
    "logprobs", "return_token_ids", "n", "stream", "tools", "tool_choice",
)  # fmt: skip


@dataclass(frozen=True)
class ChatRequest:
    model: str
    messages: list[Message]
    temperature: float
    top_p: float
    seed: int
    max_tokens: int | None  # None means the remaining context
    stop: tuple[str, ...]
    logprobs: bool
    return_token_ids: bool
    tools: list[Tool]
    """Functions for the prompt, in the policy's own format; an answer with a call stays text."""


def parse_chat_request(body: object) -> ChatRequest:
    """Parses the body; raises ApiError 400 with the parameter, the value found and the value expected."""
    if not isinstance(body, dict):
        raise ApiError(400, "invalid_json", "the body must be a JSON object")
    given = {name: value for name, value in body.items() if value is not None}
    for name in given:
        if name not in PARAMETERS:
            raise ApiError(
                400, "unsupported_parameter", f"{name} is not supported by this server", param=name
            )
    if given.get("n", 1) != 1:
        raise _invalid("n", given["n"], "1")
    if given.get("stream", False) is not False:
        raise _invalid("stream", given["stream"], "false")
    if given.get("tool_choice", "none") != "none":
        raise _invalid("tool_choice", given["tool_choice"], "none: a call is text of the answer")
    max_tokens = given.get("max_completion_tokens", given.get("max_tokens"))
    return ChatRequest(
        model=_string(given, "model"),
        messages=_messages(given.get("messages")),
        temperature=_number(given, "temperature", 1.0, 0.0, 100.0),
        top_p=_number(given, "top_p", 1.0, 1e-6, 1.0),
        seed=_integer(given, "seed", -(2**63), 2**64 - 1) if "seed" in given else secrets.randbits(63),
        max_tokens=_integer({"max_tokens": max_tokens}, "max_tokens", 1, 2**31)
        if max_tokens is not None
        else None,
        stop=_stop(given.get("stop", [])),
        logprobs=_flag(given, "logprobs"),
        return_token_ids=_flag(given, "return_token_ids"),
        tools=_tools(given.get("tools", [])),
    )


def encode_prompt(encoder: ChatEncoder, request: ChatRequest) -> list[int]:
    """Encodes the prompt; raises ApiError 400 if the policy's format cannot render messages or functions."""
    try:
        return encoder.prompt_ids(request.messages, request.tools)
    except JobFailure as failure:
        param = "tools" if request.tools else "messages"
        raise ApiError(400, "invalid_value", failure.message, param=param) from None
    except MemoryError:
        raise
    except Exception as error:  # of the template or the tokenizer: another request may be encoded
        refusal = f"the policy's tokenizer refused the prompt: {type(error).__name__}: {error}"
        raise ApiError(400, "invalid_value", refusal[:500], param="messages") from error


def _messages(value: object) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise _invalid("messages", value, "a list of at least one message")
    for index, message in enumerate(value):
        field = f"messages[{index}]"
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise _invalid(f"{field}.role", message, f"one of {', '.join(ROLES)}")
        if not isinstance(message.get("content"), str):
            raise _invalid(f"{field}.content", message.get("content"), "a string")
        # OpenAI's types require tool_call_id; chat templates do not use it
        for name in message.keys() - {"role", "content", "tool_call_id"}:
            raise ApiError(400, "unsupported_parameter", f"{field}.{name} is not supported", param=field)
    return value


def _tools(value: object) -> list[Tool]:
    if not isinstance(value, list):
        raise _invalid("tools", value, "a list of functions")
    for index, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _invalid(f"tools[{index}]", tool, 'an object with "type": "function" and "function"')
    return value


def _stop(value: object) -> tuple[str, ...]:
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(string, str) and string for string in strings):
        raise _invalid("stop", value, "a non-empty string or a list of them")
    return tuple(strings)


def _string(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise _invalid(name, value, "a string")
    return value


def _flag(given: dict[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _invalid(name, value, "true or false")
    return value


def _number(given: dict[str, Any], name: str, default: float, low: float, high: float) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise _invalid(name, value, f"a number from {low:g} to {high:g}")
    # Below this a float32 softmax is greedy, and the division overflows
    return 0.0 if value < 1e-4 or math.isclose(value, 0.0) else float(value)


def _integer(given: dict[str, Any], name: str, low: int, high: int) -> int:
    value = given[name]
    if type(value) is not int or not low <= value <= high:
        raise _invalid(name, value, f"an integer from {low} to {high}")
    return value


def _invalid(param: str, found: object, expected: str) -> ApiError:
    return ApiError(400, "invalid_value", f"{param}: found {found!r:.200}, expected {expected}", param=param)
