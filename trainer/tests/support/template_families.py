"""Chat templates in the published formats of several families, with small tokenizers of their kinds."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEMPLATES = Path(__file__).parent / "chat_templates"

_TEXTS = [
    "How many singers are there? SELECT COUNT(*) FROM singer WHERE age > 43 AND name = 'naïve café'",
    '[INST] <<SYS>> Write SQL. <</SYS>> the answer is 7 [/INST] ls(a=True) submit rows 東京 {"a": null}',
    "user assistant system model tool\n\nTable singer(id, name, age)\nrow 1: 37, row 2: 74\n\n",
]
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SPACE = "\u2581"


class Family(NamedTuple):
    template: str
    """Name of a file of `chat_templates`."""
    kind: str
    """Kind of its tokenizer, see `tokenizer_of`."""
    added: tuple[str | AddedToken, ...]
    names: dict[str, str]
    """Special tokens by their names in templates."""

    def text(self) -> str:
        return (TEMPLATES / f"{self.template}.jinja").read_text()

    def tokenizer(self) -> Tokenizer:
        return tokenizer_of(self.kind, self.added)

    def write(self, folder: Path) -> Path:
        """Writes the files of a tokenizer with its template, as transformers reads them."""
        folder.mkdir(parents=True)
        config = {"tokenizer_class": "PreTrainedTokenizerFast", **self.names}
        (folder / "tokenizer.json").write_text(self.tokenizer().to_str())
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        (folder / "chat_template.jinja").write_text(self.text())
        return folder


def _spaced(*tokens: str) -> tuple[AddedToken, ...]:
    """Returns special tokens that contain the white space after them, as Phi-3's do."""
    return tuple(AddedToken(token, special=True, normalized=False, rstrip=True) for token in tokens)


_Added = tuple[str | AddedToken, ...]
_SENTENCEPIECE: _Added = ("<unk>", "<s>", "</s>")
_S = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
_CHATML = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_IM_END = {"eos_token": "<|im_end|>"}
_BLANKS = tuple(AddedToken(text, special=False, normalized=False) for text in ("\n\n", "\n", _SPACE * 2))
_GEMMA: _Added = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", *_BLANKS)
_DEEPSEEK: tuple[str, ...] = (
    "<\uff5cbegin▁of▁sentence\uff5c>",
    "<\uff5cend▁of▁sentence\uff5c>",
    "<\uff5cUser\uff5c>",
    "<\uff5cAssistant\uff5c>",
)
_THINK: _Added = tuple(AddedToken(text, special=False, normalized=False) for text in ("<think>", "</think>"))
_DEEPSEEK_NAMES = {"bos_token": _DEEPSEEK[0], "eos_token": _DEEPSEEK[1]}
_PHI3: _Added = (
    *_SENTENCEPIECE,
    "<|endoftext|>",
    *_spaced("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
)

STABLE = {
    "llama2": Family("llama2", "prepended", _SENTENCEPIECE, _S),
    "llama2-metaspace": Family("llama2", "metaspace-first", _SENTENCEPIECE, _S),
    "mistral-v1": Family("mistral_v1", "prepended", _SENTENCEPIECE, _S),
    "mistral-v3": Family("mistral_v3", "metaspace-first", (*_SENTENCEPIECE, "[INST]", "[/INST]"), _S),
    "mistral-nemo": Family("mistral_v3", "byte-level", (*_SENTENCEPIECE, "[INST]", "[/INST]"), _S),
    "gemma": Family("gemma", "replaced", _GEMMA, {"bos_token": "<bos>", "eos_token": "<eos>"}),
    "phi3": Family("phi3", "prepended", _PHI3, {"bos_token": "<s>", "eos_token": "<|endoftext|>"}),
    "zephyr": Family("zephyr", "metaspace-always", _SENTENCEPIECE, _S),
    "deepseek": Family("deepseek", "byte-level", (*_DEEPSEEK, *_THINK), _DEEPSEEK_NAMES),
    "deepseek-thinking": Family("deepseek_thinking", "byte-level", (*_DEEPSEEK, *_THINK), _DEEPSEEK_NAMES),
    "granite": Family("granite", "byte-level", ("<|role|>", "<|/role|>", "<|text_end|>"), {}),
    "vicuna": Family("vicuna", "prepended", _SENTENCEPIECE, _S),  # its header has no special token
    "numbered": Family("numbered", "byte-level", ("<|stop|>",), {"eos_token": "<|stop|>"}),
}
UNSTABLE = {
    "counted": Family("counted", "byte-level", _CHATML, _IM_END),
    "shortened": Family("shortened", "byte-level", _CHATML, _IM_END),
    "reminded": Family("reminded", "byte-level", _CHATML, _IM_END),
    "mistral-v3-moved": Family(
        "mistral_v3_moved", "metaspace-first", (*_SENTENCEPIECE, "[INST]", "[/INST]"), _S
    ),
    "spaced": Family("spaced", "byte-level", ("<|stop|>",), {"eos_token": "<|stop|>"}),
    "shortened-late": Family("shortened_late", "byte-level", _CHATML, _IM_END),
    "shouting": Family("shouting", "byte-level", _CHATML, _IM_END),
    "unended": Family("unended", "byte-level", _CHATML, {"eos_token": "<|endoftext|>"}),
}


@cache
def tokenizer_of(kind: str, added: tuple[str | AddedToken, ...]) -> Tokenizer:
    """Trains a BPE of a kind: `byte-level` as Llama 3's, or SentencePiece's with bytes as a fallback.

    `prepended` is Llama 2's normalizer, a space before every text between tokens; `metaspace-first` adds it
    to the whole text only, `metaspace-always` to every text; `replaced` is Gemma's, which adds none.
    """
    tokenizer = Tokenizer(models.BPE())
    if kind == "byte-level":
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        split = pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        tokenizer.decoder = decoders.ByteLevel()
        _train(tokenizer, pre_tokenizers.ByteLevel.alphabet())
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
        _train(tokenizer, list("".join(_TEXTS).replace(" ", _SPACE)))
        tokenizer = _with_byte_fallback(tokenizer, kind)
    for token in added:
        if isinstance(token, str):
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        else:
            (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def _train(tokenizer: Tokenizer, alphabet: list[str]) -> None:
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=sorted(set(alphabet)), show_progress=False)
    tokenizer.train_from_iterator(_TEXTS * 8, trainer)


def _with_byte_fallback(trained: Tokenizer, kind: str) -> Tokenizer:
    serialized: dict[str, Any] = json.loads(trained.to_str())["model"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *serialized["vocab"]]
    vocabulary = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    merges = [tuple(merge) for merge in serialized["merges"]]
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    space = normalizers.Replace(" ", _SPACE)
    last = [decoders.Strip(" ", 1, 0)]
    if kind == "prepended":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), space])
    elif kind == "replaced":
        tokenizer.normalizer, last = space, []
    else:
        scheme = kind.removeprefix("metaspace-")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    pieces_to_text = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*pieces_to_text, *last])
    return tokenizer
