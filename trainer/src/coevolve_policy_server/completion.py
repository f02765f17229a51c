"""The response body of a chat completion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from coevolve_trainer.chat.encoder import ChatEncoder

from .chat_request import ChatRequest

FinishReason = Literal["stop", "length"]


class CompletionDecoder:
    """Decodes the token ids of one policy's completions."""

    def __init__(self, encoder: ChatEncoder) -> None:
        self._encoder = encoder
        self._token_fields: dict[int, dict[str, object]] = {}

    def decode_until_stop(self, token_ids: Sequence[int], stop: Sequence[str]) -> tuple[str, str | None]:
        """Returns the text up to the first stop string in it, and that stop string."""
        text = self._encoder.decode(token_ids)
        found = [(index, ending) for ending in stop if (index := text.find(ending)) >= 0]
        if not found:
            return text, None
        index, ending = min(found)
        return text[:index], ending

    def token_fields(self, token: int) -> dict[str, object]:
        """Returns the fields of a log-probability entry that describe its token."""
        if token not in self._token_fields:
            text = self._encoder.tokenizer.decode([token], skip_special_tokens=False)
            self._token_fields[token] = {"token": text, "bytes": list(text.encode())}
        return self._token_fields[token]


@dataclass(frozen=True)
class Completion:
    """Token ids as they were sampled; log-probabilities at temperature 1, before top_p."""

    prompt_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: FinishReason
    decoder: CompletionDecoder


def completion_body(request: ChatRequest, completion: Completion) -> dict[str, Any]:
    """Returns the body of a chat completion in vLLM's format."""
    content, stop_string = completion.decoder.decode_until_stop(completion.token_ids, request.stop)
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "logprobs": None,
        "finish_reason": completion.finish_reason,
        "stop_reason": stop_string,
    }
    if request.logprobs:
        entries = zip(completion.token_ids, completion.logprobs, strict=True)
        choice["logprobs"] = {
            "content": [
                {**completion.decoder.token_fields(token), "logprob": value, "top_logprobs": []}
                for token, value in entries
            ]
        }
    prompt_tokens, tokens = len(completion.prompt_ids), len(completion.token_ids)
    body: dict[str, Any] = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
        },
    }
    if request.return_token_ids:
        body["prompt_token_ids"] = completion.prompt_ids
        choice["token_ids"] = completion.token_ids
    return body
