"""Builds the tokenizer of a GGUF file. Unlike transformers, which splits digits and spaces in the same way
for all families, it follows the file's `tokenizer.ggml.pre`, as llama.cpp does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from ..failures import bad_input

_CONTROL, _USER_DEFINED = 3, 4  # token types of GGUF
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2_SPLIT = _WORDS + r"\p{N}" + _REST
LLAMA3_SPLIT = _WORDS + r"\p{N}{1,3}" + _REST


def gguf_tokenizer(fields: Mapping[str, Any]) -> Tokenizer:
    """Builds the tokenizer described by a GGUF file's `tokenizer.ggml.*` fields.

    Raises:
        JobFailure: `bad-input` when it is not a byte-level BPE, or its pre-tokenizer is not supported.
    """
    kind, pre = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind != "gpt2":
        raise bad_input("tokenizer.ggml.model", kind, "gpt2 (byte-level BPE)")
    if pre not in PRE_TOKENIZERS:
        raise bad_input("tokenizer.ggml.pre", pre, f"one of {', '.join(PRE_TOKENIZERS)}")
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = byte_level_bpe({token: id for id, token in enumerate(tokens)}, merges, pre)
    for token, kind in zip(tokens, kinds, strict=True):
        if kind in (_CONTROL, _USER_DEFINED):
            added = AddedToken(token, special=kind == _CONTROL, normalized=False)
            (tokenizer.add_special_tokens if kind == _CONTROL else tokenizer.add_tokens)([added])
    return tokenizer


def byte_level_bpe(vocabulary: dict[str, int], merges: list[Any], pre: str) -> Tokenizer:
    """Returns a byte-level BPE with the pre-tokenizer of the family `pre`."""
    # Llama 3's vocabulary contains whole words that its merges cannot produce
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=pre == "llama-bpe"))
    if pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[pre]
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _split(pattern: str) -> pre_tokenizers.PreTokenizer:
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


PRE_TOKENIZERS: dict[str, Any] = {
    "smollm": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    ),
    "qwen2": _split(QWEN2_SPLIT),
    "llama-bpe": _split(LLAMA3_SPLIT),
}
