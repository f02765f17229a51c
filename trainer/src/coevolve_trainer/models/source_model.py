"""Reads a pretrained model, its tokenizer and its chat template from a GGUF file or a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import Tokenizer

from ..chat.choose_format import ChatTemplate
from ..failures import bad_input
from .model_sources import Source

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_GGUF_TEMPLATE = "tokenizer.chat_template"
_NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")


class SourceModel(NamedTuple):
    """A model as it was read from its source."""

    model: PreTrainedModel
    dtype: str  # type of its weights
    template: ChatTemplate
    license: str | None


def read_source(source: Source) -> SourceModel:
    """
    Raises:
        JobFailure: `bad-input` for an unsupported model; the libraries raise others for damaged files.
    """
    return _read_gguf(source) if source.path.is_file() else _read_folder(source.path)


def generic_template(source: Source, model: SourceModel) -> ChatTemplate:
    """Returns the template with the tokenizer that transformers makes of a folder.

    For SentencePiece's models it may differ from tokenizer.json, because transformers builds it by its class.
    """
    if source.path.is_file():
        return model.template
    from transformers import AutoTokenizer

    loaded: Any = AutoTokenizer.from_pretrained(source.path, local_files_only=True)
    tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    names = {name: str(token) for name, token in loaded.special_tokens_map.items() if isinstance(token, str)}
    return ChatTemplate(_default(loaded.chat_template), tokenizer, names)


def _read_gguf(source: Source) -> SourceModel:
    import torch
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    from .gguf_tokenizer import gguf_tokenizer, special_tokens

    logging.disable_progress_bar()
    fields: dict[str, Any] = {
        name: field.contents() for name, field in GGUFReader(source.path).fields.items()
    }
    beside = source.path.with_name("chat_template.jinja")
    if beside.is_file():  # older files have no template
        fields[_GGUF_TEMPLATE] = beside.read_text(encoding="utf-8")
    tokenizer = gguf_tokenizer(fields)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            source.path.parent, gguf_file=source.path.name, dtype=torch.float32, local_files_only=True
        )
    except (ValueError, KeyError) as error:
        name = fields.get("general.architecture")
        raise bad_input("general.architecture", name, f"one that transformers reads ({error})") from None
    # The weights are no longer packed; a configuration with this entry could not be loaded
    del model.config.quantization_config
    return SourceModel(
        model=model,
        dtype="bfloat16",  # no packed type is more precise
        template=ChatTemplate(fields.get(_GGUF_TEMPLATE), tokenizer, special_tokens(fields)),
        license=fields.get("general.license"),
    )


def _read_folder(folder: Path) -> SourceModel:
    from .policy import CONFIG, load_model

    _require_files(folder)
    _require_causal_model(_read_json(folder / CONFIG))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    path = folder / "tokenizer_config.json"
    tokenizer_config = _read_json(path) if path.is_file() else {}
    template = folder / "chat_template.jinja"
    model = load_model(folder, "auto")
    named = {name: tokenizer_config.get(name) for name in _NAMES}
    texts = {name: token["content"] if isinstance(token, dict) else token for name, token in named.items()}
    return SourceModel(
        model=model,
        dtype=str(model.dtype).removeprefix("torch."),
        template=ChatTemplate(
            _read_text(template) if template.is_file() else _default(tokenizer_config.get("chat_template")),
            tokenizer,
            {name: token for name, token in texts.items() if token is not None},
        ),
        license=None,
    )


def _require_files(folder: Path) -> None:
    """Raises `bad-input` for a missing file, with the call that makes it of a model's older files."""
    from .weight_files import INDEX, WEIGHTS

    expected = "a folder in the format of transformers"
    save = "from_pretrained(folder).save_pretrained(folder)"
    if not (folder / "config.json").is_file():
        raise bad_input(f"source {folder}", "no config.json", expected)
    if not (folder / "tokenizer.json").is_file():
        remedy = f"AutoTokenizer.{save} writes it, also of tokenizer.model"
        raise bad_input(f"source {folder}", "no tokenizer.json", f"{expected}; {remedy}")
    if not any((folder / name).is_file() for name in (WEIGHTS, INDEX)):
        remedy = f"AutoModelForCausalLM.{save} writes it, also of pytorch_model.bin"
        raise bad_input(f"source {folder}", f"no {WEIGHTS}", f"{expected}; {remedy}")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise bad_input(str(path), f"invalid JSON ({error})", "a JSON object") from None
    if not isinstance(content, dict):
        raise bad_input(str(path), f"a {type(content).__name__}", "a JSON object")
    return content


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise bad_input(str(path), error, "text in UTF-8") from None


def _default(template: Any) -> str | None:
    """Returns the default of several templates: a list in a file, a dictionary in transformers."""
    if isinstance(template, list):
        template = {entry["name"]: entry["template"] for entry in template}
    return template.get("default") if isinstance(template, dict) else template


def _require_causal_model(config: dict[str, Any]) -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    model_type = config.get("model_type")
    if model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise bad_input(
            "model_type", model_type, "a causal language model of transformers, such as qwen3 or llama"
        )
