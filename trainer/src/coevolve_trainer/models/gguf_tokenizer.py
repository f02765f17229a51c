"""Builds the tokenizer of a GGUF file, which is a byte-level BPE or SentencePiece's.

For the first, transformers splits digits and spaces in the same way for all families; this follows the file's
`tokenizer.ggml.pre`, as llama.cpp does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from ..failures import bad_input
from .sentencepiece_tokenizer import CONTROL, USER_DEFINED, default_special_ids, sentencepiece_tokenizer

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2_SPLIT = _WORDS + r"\p{N}" + _REST
LLAMA3_SPLIT = _WORDS + r"\p{N}{1,3}" + _REST


def gguf_tokenizer(fields: Mapping[str, Any]) -> Tokenizer:
    """Builds the tokenizer described by a GGUF file's `tokenizer.ggml.*` fields.

    Raises:
        JobFailure: `bad-input` when it is neither a byte-level BPE of a supported pre-tokenizer nor a BPE of
            SentencePiece that can be built exactly.
    """
    kind, pre = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind == "llama":
        return sentencepiece_tokenizer(fields, special_tokens(fields))
    if kind != "gpt2":
        raise bad_input("tokenizer.ggml.model", kind, "gpt2 (byte-level BPE) or llama (SentencePiece)")
    if pre not in PRE_TOKENIZERS:
        raise bad_input("tokenizer.ggml.pre", pre, f"one of {', '.join(PRE_TOKENIZERS)}")
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = byte_level_bpe({token: id for id, token in enumerate(tokens)}, merges, pre)
    for token, kind in zip(tokens, kinds, strict=True):
        if kind in (CONTROL, USER_DEFINED):
            added = AddedToken(token, special=kind == CONTROL, normalized=False)
            (tokenizer.add_special_tokens if kind == CONTROL else tokenizer.add_tokens)([added])
    return tokenizer


def special_tokens(fields: Mapping[str, Any]) -> dict[str, str]:
    """Returns the special tokens by their names in chat templates, such as `bos_token`."""
    keys = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    stated = {name: fields.get(f"tokenizer.ggml.{key}_token_id") for name, key in keys.items()}
    ids = default_special_ids(fields) if fields.get("tokenizer.ggml.model") == "llama" else {}
    ids |= {name: id for name, id in stated.items() if id is not None}
    tokens = fields["tokenizer.ggml.tokens"]
    return {name: tokens[ids[name]] for name in keys if name in ids}


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
