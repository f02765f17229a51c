"""The supported chat formats by name."""

from __future__ import annotations

from ..format import ChatFormat
from .chatml import CHATML, QWEN2_5, QWEN3, SMOLLM2
from .llama3 import LLAMA3, LLAMA3_1

FORMATS: dict[str, ChatFormat] = {
    chat_format.name: chat_format for chat_format in (CHATML, QWEN2_5, QWEN3, SMOLLM2, LLAMA3, LLAMA3_1)
}
