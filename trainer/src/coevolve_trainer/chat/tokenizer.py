"""Trains the tokenizer of a new policy and writes its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from ..files.atomic_files import canonical_json, write_synced
from .named_formats import DEFAULT
from .template_renderer import named_templates

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
_INIT_TOKENS = {"eos_token": END, "pad_token": PAD}


def train_tokenizer(texts: Iterable[str], *, vocabulary_size: int) -> Tokenizer:
    """Trains a byte-level BPE: every text has an encoding, and decoding reverses it.

    A newline is always a separate token. Therefore the ids of `a + newline + b` are the
    ids of a, of newline and of b, and the messages of a conversation can be encoded one by one.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("\n"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def write_tokenizer(
    tokenizer: Tokenizer,
    folder: Path,
    *,
    max_positions: int,
    template: str | None = None,
    special_tokens: Mapping[str, str] = _INIT_TOKENS,
) -> None:
    """Writes the files from which transformers' AutoTokenizer loads the same tokenizer and chat template.

    By default the template is the format of method `init`.
    """
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **special_tokens,
        "model_max_length": max_positions,
    }
    write_synced(folder / "tokenizer.json", tokenizer.to_str().encode())
    write_synced(folder / "tokenizer_config.json", canonical_json(config))
    write_synced(folder / "chat_template.jinja", (template or named_templates()[DEFAULT]).encode())
