"""SentencePiece models trained as Llama's was, and GGUF files of small Llamas with their vocabularies."""

import io
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.vocab import SentencePieceVocab
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from transformers import AutoConfig, AutoModelForCausalLM

from job_folder import expert_rows

LLAMA = {"tokens": ("<s>", "</s>"), "user_defined": (), "adds_space": True}
MISTRAL_V3 = {
    "tokens": ("<s>", "</s>", "[INST]", "[/INST]"),
    "user_defined": ("[DOCUMENT_1]",),
    "adds_space": True,
}
NO_SPACE = {**LLAMA, "adds_space": False}
SPACE = "\u2581"
_RUN_SCORE = -1e9  # of runs of spaces in the vocabularies of Llama 2 and Mistral
_TEXTS = [
    "def count(rows: list[int]):\n    for row in rows:\n        if row > 12:\n                return row\n",
    "naïve café, Straße, 東京 の 人口, Ελλάδα, привет мир; 37 <s> is text </s> [INST] <unk> <0x0A>",
    "[INST] <<SYS>> Write SQL. <</SYS>> the answer is 7 [/INST] aaa aaaa aaaaaaa bcb bcbcb --- ===== ....",
]
_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


def sentencepiece_model(kind: Mapping[str, Any]) -> SentencePieceProcessor:
    return SentencePieceProcessor(
        model_proto=_trained(kind["tokens"], kind["user_defined"], kind["adds_space"])
    )


@cache
def _trained(control: tuple[str, ...], user_defined: tuple[str, ...], adds_space: bool) -> bytes:
    """Trains a BPE with Llama's options: no normalizer, single digits, bytes for unknown characters."""
    rows = [message["content"] for row in expert_rows(40) for message in row["messages"]]
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([*rows, *_TEXTS * 8]),
        model_writer=model,
        model_type="bpe",
        vocab_size=700,
        hard_vocab_limit=False,
        character_coverage=1.0,
        byte_fallback=True,
        split_digits=True,
        allow_whitespace_only_pieces=True,
        remove_extra_whitespaces=False,
        add_dummy_prefix=adds_space,
        normalization_rule_name="identity",
        control_symbols=list(control[2:]),
        user_defined_symbols=[*user_defined, *(SPACE * length for length in (2, 3, 4, 5, 6, 8, 14, 16))],
        num_threads=1,
        minloglevel=2,
    )
    return _with_runs(model.getvalue())


def _with_runs(model: bytes) -> bytes:
    """Makes normal pieces of the runs of spaces, all with the score that they have in Llama's model."""
    for length in (1, 2, 3, 4, 5, 6, 8, 14, 16):
        piece = (SPACE * length).encode()
        start = model.index(b"\x0a" + bytes([len(piece)]) + piece + b"\x15")
        score = start + 3 + len(piece)
        model = model[:score] + struct.pack("<f", _RUN_SCORE) + model[score + 4 :]
        if model[score + 4 : score + 6] == b"\x18\x04":  # the field `type`: user-defined
            model = model[: score + 5] + b"\x01" + model[score + 6 :]
    return model


def gguf_fields(kind: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the fields of a GGUF file, as llama.cpp's converter writes them from a tokenizer.model."""
    (folder / "tokenizer.model").write_bytes(
        _trained(kind["tokens"], kind["user_defined"], kind["adds_space"])
    )
    tokens, scores, kinds = zip(*SentencePieceVocab(folder).all_tokens(), strict=True)
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [token.decode() for token in tokens],
        "tokenizer.ggml.scores": list(scores),
        "tokenizer.ggml.token_type": [int(each) for each in kinds],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": kind["adds_space"],
    }


def write_gguf(path: Path, fields: Mapping[str, Any]) -> Any:
    """Writes a random Llama with the fields of a vocabulary; returns the model of transformers."""
    torch.manual_seed(0)
    size = len(fields["tokenizer.ggml.tokens"])
    model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **_SIZES, vocab_size=size))
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(size)
    for name, value in fields.items():
        _add_field(writer, name, value)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        weight = _permuted(tensor.numpy(), heads) if "q_proj" in name or "k_proj" in name else tensor.numpy()
        writer.add_tensor(str(names.get_name(name, (".weight",))), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def _add_field(writer: gguf.GGUFWriter, name: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(name, value)
    elif isinstance(value, bool):
        writer.add_bool(name, value)
    elif isinstance(value, int):
        writer.add_uint32(name, value)
    elif name != "general.architecture":  # the writer has written it
        writer.add_string(name, value)


def _permuted(weight: Any, heads: int) -> Any:
    """Orders the rows of a head for llama.cpp's rotary embedding, as its converter does."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))
