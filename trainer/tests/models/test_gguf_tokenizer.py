"""Tokenizers of GGUF files; an unsupported pre-tokenizer is rejected."""

from typing import Any

import pytest
from tokenizers import Tokenizer

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.gguf_tokenizer import gguf_tokenizer
from vocabularies import smollm2_fields, vocabulary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizer.ggml.model": "t5"}, "tokenizer.ggml.model: found t5, expected gpt2 .* or llama"),
        ({"tokenizer.ggml.pre": "tekken"}, "tokenizer.ggml.pre: found tekken, expected one of smollm, qwen2"),
    ],
)
def test_an_unknown_tokenizer_is_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(JobFailure, match=message):
        gguf_tokenizer(smollm2_fields() | change)


def test_digits_are_separate_tokens_and_control_tokens_are_special() -> None:
    tokenizer = Tokenizer.from_str(vocabulary("smollm2"))
    assert tokenizer.encode("12 rows").tokens == ["1", "2", "Ġrows"]
    assert tokenizer.encode("<|im_end|>").tokens == ["<|im_end|>"]
    tokenizer.encode_special_tokens = True
    assert "<|im_end|>" not in tokenizer.encode("<|im_end|>").tokens


@pytest.mark.parametrize("family", ["smollm2", "qwen3", "llama3"])
def test_decoding_returns_the_encoded_text(family: str) -> None:
    tokenizer = Tokenizer.from_str(vocabulary(family))
    for text in ("SELECT 1;\n\n\tFROM  x", "naïve 東京 🦜", "\r\n  x \x00"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
