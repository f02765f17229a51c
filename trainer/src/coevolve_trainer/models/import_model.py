"""Imports a pretrained model as a policy.

The same source gives the same bytes, and therefore the same policy hash. The manifest contains the source,
its license and its chat format.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import Tokenizer

from ..chat.detect_format import detect_chat_format, renders_tools
from ..chat.encoder import CHAT_FORMAT, ChatEncoder
from ..chat.format import ChatFormat
from ..chat.formats import FORMATS
from ..chat.tokenizer import write_tokenizer
from ..failures import EXIT_CODES, as_job_failure, bad_input
from ..files.atomic_files import (
    canonical_json,
    create_empty_directory,
    publish_directory,
    write_synced,
)
from ..files.disk_space import require_free_space
from ..files.policy_files import write_manifest
from .model_sources import Source, find_source

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WEIGHT_TYPES = ("as-found", "bfloat16", "float32")


class SourceModel(NamedTuple):
    """A model as it was read from its source."""

    model: PreTrainedModel
    dtype: str  # type of its weights
    tokenizer: Tokenizer
    template: str | None
    bos_token: str | None  # may occur in the template
    license: str | None


def import_model(
    source: str, output: Path, *, weights: str = "as-found", chat_format: str | None = None
) -> dict[str, object]:
    """Writes the policy `output`; returns the fields of its manifest and its hash as `policy_hash`.

    `weights` is the stored type; `as-found` is bfloat16 for GGUF's packed types. `chat_format` names the
    format of a model without a chat template.

    Raises:
        JobFailure: `bad-input` for an unsupported source, architecture or chat template; `disk-full`.
    """
    if output.exists():
        raise bad_input("output", f"{output}, which exists", "a new name")
    found = find_source(source)
    output.parent.mkdir(parents=True, exist_ok=True)
    model, format_ = _read(found, FORMATS[chat_format] if chat_format else None)
    staging = create_empty_directory(output.with_name(f".{output.name}.staging"))
    fields = {
        "method": "import",
        "source": found.record,
        "license": found.license or model.license or "not stated",
        "chat_format": format_.name,
        **_write_files(model, format_, weights, staging),
    }
    policy_hash = write_manifest(staging, fields)
    publish_directory(staging, output)
    return {**fields, "policy_hash": policy_hash}


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_trainer.models.import_model", description=__doc__)
    parser.add_argument("source", help="a GGUF file, a folder, package:<name>, or <owner>/<name> of a hub")
    parser.add_argument("--output", type=Path, required=True, help="new folder of the policy")
    parser.add_argument("--weights", choices=WEIGHT_TYPES, default="as-found", help="stored type of weights")
    parser.add_argument(
        "--chat-format",
        choices=tuple(FORMATS),
        default=None,
        help="format of a model without a chat template",
    )
    arguments = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    try:
        fields = import_model(
            arguments.source,
            arguments.output.absolute(),
            weights=arguments.weights,
            chat_format=arguments.chat_format,
        )
    except Exception as error:
        failure = as_job_failure(error)
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]
    print(json.dumps(fields))
    return 0


def _read(source: Source, given_format: ChatFormat | None) -> tuple[SourceModel, ChatFormat]:
    """
    Raises:
        JobFailure: `bad-input`, also for damaged files: the libraries raise errors of all types for those.
    """
    try:
        model = _read_gguf(source) if source.path.is_file() else _read_folder(source)
        detected = given_format or detect_chat_format(
            model.template, model.tokenizer, bos_token=model.bos_token
        )
    except Exception as error:
        failure = as_job_failure(error)
        if failure.type != "internal":
            raise
        raise bad_input(
            "source", f"{source.path} ({failure.message})", "the files of an intact model"
        ) from error
    return model, detected


def _read_gguf(source: Source) -> SourceModel:
    import torch
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    from .gguf_tokenizer import gguf_tokenizer

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    fields: dict[str, Any] = {
        name: field.contents() for name, field in GGUFReader(source.path).fields.items()
    }
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
    bos_id = fields.get("tokenizer.ggml.bos_token_id")
    return SourceModel(
        model=model,
        dtype="bfloat16",  # no packed type is more precise
        tokenizer=tokenizer,
        template=fields.get("tokenizer.chat_template"),
        bos_token=None if bos_id is None else fields["tokenizer.ggml.tokens"][bos_id],
        license=fields.get("general.license"),
    )


def _read_folder(source: Source) -> SourceModel:
    from .policy import CONFIG, load_model

    folder = source.path
    for name in (CONFIG, "tokenizer.json"):
        if not (folder / name).is_file():
            raise bad_input(f"source {folder}", f"no {name}", "a folder in the format of transformers")
    config: dict[str, Any] = json.loads((folder / CONFIG).read_bytes())
    _require_causal_model(config)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    path = folder / "tokenizer_config.json"
    tokenizer_config: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    template = folder / "chat_template.jinja"
    model = load_model(folder, "auto")
    bos_token = tokenizer_config.get("bos_token")
    return SourceModel(
        model=model,
        dtype=str(model.dtype).removeprefix("torch."),
        tokenizer=tokenizer,
        template=template.read_text() if template.is_file() else tokenizer_config.get("chat_template"),
        bos_token=bos_token["content"] if isinstance(bos_token, dict) else bos_token,
        license=None,
    )


def _require_causal_model(config: dict[str, Any]) -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    model_type = config.get("model_type")
    if model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise bad_input(
            "model_type", model_type, "a causal language model of transformers, such as qwen3 or llama"
        )


def _write_files(
    source: SourceModel, chat_format: ChatFormat, weights: str, folder: Path
) -> dict[str, object]:
    """Writes all files except the manifest; returns the manifest's fields about the weights."""
    import torch

    from .policy import GENERATION_CONFIG, parameter_count, write_model

    model = source.model
    stored = source.dtype if weights == "as-found" else weights
    torch.nn.Module.to(model, getattr(torch, stored))
    model.config.dtype = getattr(torch, stored)
    require_free_space(folder, 2 * sum(p.nbytes for p in model.parameters()))
    encoder = ChatEncoder(source.tokenizer, chat_format)
    write_model(model, folder)
    generation = {"eos_token_id": list(encoder.stop_ids), "pad_token_id": encoder.pad_id}
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))
    tools = renders_tools(source.template, chat_format, bos_token=source.bos_token)
    write_synced(folder / CHAT_FORMAT, canonical_json({"name": chat_format.name, "tools": tools}))
    write_tokenizer(
        source.tokenizer,
        folder,
        max_positions=model.config.max_position_embeddings,
        chat_format=chat_format,
        pad_token=encoder.pad_token,
    )
    return {
        "tools": tools,
        "architecture": type(model).__name__,
        "parameters": parameter_count(model),
        "weights": stored,
    }


if __name__ == "__main__":
    sys.exit(main())
