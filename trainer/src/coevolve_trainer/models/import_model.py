"""Turns a model that was trained elsewhere into a base policy.

The same source gives the same bytes, and so the same policy hash. What is known of the source, its licence
and its chat format stands in the manifest.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import Tokenizer

from ..chat.detect_format import recognise
from ..chat.encoder import CHAT_FORMAT, ChatEncoder
from ..chat.format import ChatFormat
from ..chat.formats import FORMATS
from ..chat.tokenizer import write_tokenizer
from ..failures import EXIT_CODES, as_job_failure, bad_input
from ..files.atomic_files import (
    canonical_json,
    fresh_directory,
    publish_directory,
    require_free_disk,
    write_synced,
)
from ..files.policy_files import write_manifest
from .model_sources import Source, find_source

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WEIGHTS_AS = ("as-found", "bfloat16", "float32")


class Found(NamedTuple):
    """A model as its source holds it."""

    model: PreTrainedModel
    as_found: str  # the type of its weights
    tokenizer: Tokenizer
    template: str | None
    begin: str | None  # the tokenizer's bos_token, which templates may write
    licence: str | None


def import_model(
    source: str, output: Path, *, weights: str = "as-found", chat_format: str | None = None
) -> dict[str, object]:
    """Makes the policy in `output` and returns what its manifest says, with its hash as `policy_hash`.

    `weights` is the type in which they are stored; as found, which for GGUF's packed types is bfloat16.
    `chat_format` names the format of a model that has no chat template of its own.

    Raises:
        JobFailure: `bad-input` for a source, architecture or chat template that is not known; `disk-full`.
    """
    if output.exists():
        raise bad_input("output", f"{output}, which is there", "a new name")
    found_source = find_source(source)
    output.parent.mkdir(parents=True, exist_ok=True)
    found = _from_gguf(found_source) if found_source.path.is_file() else _from_folder(found_source)
    known = FORMATS[chat_format] if chat_format else None
    format_ = known or recognise(found.template, found.tokenizer, begin=found.begin)
    staging = fresh_directory(output.with_name(f".{output.name}.staging"))
    facts = {
        "method": "import",
        "source": found_source.record,
        "licence": found_source.licence or found.licence or "not stated",
        "chat_format": format_.name,
        **_write(found, format_, weights, staging),
    }
    policy_hash = write_manifest(staging, facts)
    publish_directory(staging, output)
    return {**facts, "policy_hash": policy_hash}


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_trainer.models.import_model", description=__doc__)
    parser.add_argument("source", help="a GGUF file, a folder, package:<name>, or <owner>/<name> of a hub")
    parser.add_argument("--output", type=Path, required=True, help="the policy's folder, which is made")
    parser.add_argument("--weights", choices=WEIGHTS_AS, default="as-found")
    parser.add_argument("--chat-format", choices=tuple(FORMATS), default=None)
    arguments = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    try:
        facts = import_model(
            arguments.source,
            arguments.output.absolute(),
            weights=arguments.weights,
            chat_format=arguments.chat_format,
        )
    except Exception as error:
        failure = as_job_failure(error)
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]
    print(json.dumps(facts))
    return 0


def _from_gguf(source: Source) -> Found:
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
    # Its packed types are gone with the file; a configuration that still named them could not be loaded
    del model.config.quantization_config
    begin = fields.get("tokenizer.ggml.bos_token_id")
    return Found(
        model=model,
        as_found="bfloat16",  # no packed type holds more
        tokenizer=tokenizer,
        template=fields.get("tokenizer.chat_template"),
        begin=None if begin is None else fields["tokenizer.ggml.tokens"][begin],
        licence=fields.get("general.license"),
    )


def _from_folder(source: Source) -> Found:
    from .policy import CONFIG, load_model

    folder = source.path
    for name in (CONFIG, "tokenizer.json"):
        if not (folder / name).is_file():
            raise bad_input(f"source {folder}", f"no {name}", "a folder as transformers saves models")
    config: dict[str, Any] = json.loads((folder / CONFIG).read_bytes())
    _require_causal(config)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    path = folder / "tokenizer_config.json"
    described: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    template = folder / "chat_template.jinja"
    model = load_model(folder, "auto")
    begin = described.get("bos_token")
    return Found(
        model=model,
        as_found=str(model.dtype).removeprefix("torch."),
        tokenizer=tokenizer,
        template=template.read_text() if template.is_file() else described.get("chat_template"),
        begin=begin["content"] if isinstance(begin, dict) else begin,
        licence=None,
    )


def _require_causal(config: dict[str, Any]) -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    model_type = config.get("model_type")
    if model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise bad_input(
            "model_type", model_type, "a causal language model of transformers, such as qwen3 or llama"
        )


def _write(found: Found, chat_format: ChatFormat, weights: str, folder: Path) -> dict[str, object]:
    """Writes everything but the manifest; returns what it says of the weights."""
    import torch

    from .policy import GENERATION_CONFIG, parameter_count, write_model

    model = found.model
    stored = found.as_found if weights == "as-found" else weights
    torch.nn.Module.to(model, getattr(torch, stored))
    model.config.dtype = getattr(torch, stored)
    require_free_disk(folder, 2 * sum(p.nbytes for p in model.parameters()))
    encoder = ChatEncoder(found.tokenizer, chat_format)
    write_model(model, folder)
    generation = {"eos_token_id": list(encoder.stop_ids), "pad_token_id": encoder.pad_id}
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))
    write_synced(folder / CHAT_FORMAT, canonical_json({"name": chat_format.name}))
    write_tokenizer(
        found.tokenizer,
        folder,
        max_positions=model.config.max_position_embeddings,
        chat_format=chat_format,
        pad_token=encoder.pad_token,
    )
    return {
        "architecture": type(model).__name__,
        "parameters": parameter_count(model),
        "weights": stored,
    }


if __name__ == "__main__":
    sys.exit(main())
