"""What a server answers a chat completion with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from coevolve_trainer.chat.encoder import ChatEncoder

from .chat_request import ChatRequest

FinishReason = Literal["stop", "length"]


class AnswerReader:
    """Makes text of the token ids of one policy's answers."""

    def __init__(self, encoder: ChatEncoder) -> None:
        self._encoder = encoder
        self._entries: dict[int, dict[str, object]] = {}

    def text_of(self, token_ids: Sequence[int], stop: Sequence[str]) -> tuple[str, str | None]:
        """The answer's text up to the first stop text in it, and that stop text."""
        text = self._encoder.decode(token_ids)
        found = [(at, ending) for ending in stop if (at := text.find(ending)) >= 0]
        if not found:
            return text, None
        at, ending = min(found)
        return text[:at], ending

    def entry_of(self, token: int) -> dict[str, object]:
        """How a log-probability entry names its token."""
        if token not in self._entries:
            text = self._encoder.tokenizer.decode([token], skip_special_tokens=False)
            self._entries[token] = {"token": text, "bytes": list(text.encode())}
        return self._entries[token]


@dataclass(frozen=True)
class Answer:
    """Token ids as they were sampled; log-probabilities at temperature 1, before top_p."""

    prompt_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: FinishReason
    reader: AnswerReader


def completion_of(request: ChatRequest, answer: Answer) -> dict[str, Any]:
    """The body of a chat completion as vLLM writes it."""
    content, ending = answer.reader.text_of(answer.token_ids, request.stop)
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "logprobs": None,
        "finish_reason": answer.finish_reason,
        "stop_reason": ending,
    }
    if request.logprobs:
        entries = zip(answer.token_ids, answer.logprobs, strict=True)
        choice["logprobs"] = {
            "content": [
                {**answer.reader.entry_of(token), "logprob": value, "top_logprobs": []}
                for token, value in entries
            ]
        }
    prompt, spoken = len(answer.prompt_ids), len(answer.token_ids)
    body: dict[str, Any] = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [choice],
        "usage": {"prompt_tokens": prompt, "completion_tokens": spoken, "total_tokens": prompt + spoken},
    }
    if request.return_token_ids:
        body["prompt_token_ids"] = answer.prompt_ids
        choice["token_ids"] = answer.token_ids
    return body
