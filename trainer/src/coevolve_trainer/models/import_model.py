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

from ..chat.choose_format import (
    NAMES,
    ChosenFormat,
    require_format_name,
    template_format,
    verified_format,
)
from ..chat.encoder import CHAT_FORMAT, ChatEncoder
from ..chat.template_format import NAME as TEMPLATE
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
from .model_limits import limit_to_window, positions_of, require_ids, server_notes
from .model_sources import Source, find_source
from .source_model import SourceModel, generic_template, read_source

WEIGHT_TYPES = ("as-found", "bfloat16", "float32")


def import_model(
    source: str,
    output: Path,
    *,
    weights: str = "as-found",
    chat_format: str | None = None,
    fold_system: bool = False,
) -> dict[str, object]:
    """Writes the policy `output`; returns the fields of its manifest, its hash as `policy_hash`, and `notes`.

    Args:
        weights: the stored type; `as-found` is bfloat16 for GGUF's packed types.
        chat_format: a verified family, or `template` for the model's own template. By default it is detected.
        fold_system: puts system messages into the first user message although the template takes them.

    Raises:
        JobFailure: `bad-input` for an unsupported source, architecture or chat template; `disk-full`.
    """
    require_format_name(chat_format)
    if output.exists():
        raise bad_input("output", f"{output}, which exists", "a new name")
    found = find_source(source)
    output.parent.mkdir(parents=True, exist_ok=True)
    model, chosen = _read(found, chat_format, fold_system=fold_system)
    require_ids(model.model, model.template.tokenizer)
    staging = create_empty_directory(output.with_name(f".{output.name}.staging"))
    notes = [*chosen.notes, *limit_to_window(model.model)]
    fields = {
        "method": "import",
        "source": found.record,
        "license": found.license or model.license or "not stated",
        "chat_format": chosen.chat_format.name,
        **_write_files(model, chosen, weights, staging),
    }
    notes += server_notes(staging)
    policy_hash = write_manifest(staging, fields)
    publish_directory(staging, output)
    return {**fields, "policy_hash": policy_hash, "notes": notes}


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_trainer.models.import_model", description=__doc__)
    parser.add_argument("source", help="a GGUF file, a folder, package:<name>, or <owner>/<name> of a hub")
    parser.add_argument("--output", type=Path, required=True, help="new folder of the policy")
    parser.add_argument("--weights", choices=WEIGHT_TYPES, default="as-found", help="stored type of weights")
    parser.add_argument(
        "--chat-format",
        default=None,
        help=f"instead of the detected one: one of {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--fold-system",
        action="store_true",
        help="put system messages into the first user message",
    )
    arguments = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    try:
        fields = import_model(
            arguments.source,
            arguments.output.absolute(),
            weights=arguments.weights,
            chat_format=arguments.chat_format,
            fold_system=arguments.fold_system,
        )
    except Exception as error:
        failure = as_job_failure(error)
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]
    print(json.dumps(fields))
    return 0


def _read(source: Source, chat_format: str | None, *, fold_system: bool) -> tuple[SourceModel, ChosenFormat]:
    """
    Raises:
        JobFailure: `bad-input`, also for damaged files: the libraries raise errors of all types for those.
    """
    try:
        model = read_source(source)
        verified = verified_format(model.template, chat_format)
        if verified is not None:
            return model, verified
        model = model._replace(template=generic_template(source, model))
        return model, template_format(model.template, fold_system=fold_system)
    except Exception as error:
        failure = as_job_failure(error)
        if failure.type != "internal":
            raise
        cause = " ".join(failure.message.split())  # the service shows one line
        raise bad_input("source", f"{source.path} ({cause})", "the files of an intact model") from error


def _write_files(source: SourceModel, chosen: ChosenFormat, weights: str, folder: Path) -> dict[str, object]:
    """Writes all files except the manifest; returns the manifest's fields about the weights."""
    import torch

    from .policy import GENERATION_CONFIG, parameter_count, write_model

    model, (chat_format, tools, _) = source.model, chosen
    stored = source.dtype if weights == "as-found" else weights
    torch.nn.Module.to(model, getattr(torch, stored))
    model.config.dtype = getattr(torch, stored)
    require_free_space(folder, 2 * sum(p.nbytes for p in model.parameters()))
    encoder = ChatEncoder(source.template.tokenizer, chat_format, has_tools=tools)
    write_model(model, folder)
    generation = {"eos_token_id": list(encoder.stop_ids), "pad_token_id": encoder.pad_id}
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))
    record: dict[str, object] = {"name": chat_format.name}
    special_tokens = {"eos_token": chat_format.end_token, "pad_token": encoder.pad_token}
    if chat_format.name == TEMPLATE:
        special_tokens = {**chat_format.variables, "pad_token": encoder.pad_token}
        record = {**chat_format.record(), "variables": special_tokens}
    write_synced(folder / CHAT_FORMAT, canonical_json({**record, "tools": tools}))
    write_tokenizer(
        source.template.tokenizer,
        folder,
        max_positions=positions_of(model),
        template=chat_format.template,
        special_tokens=special_tokens,
    )
    return {
        "tools": tools,
        "architecture": type(model).__name__,
        "parameters": parameter_count(model),
        "weights": stored,
    }


if __name__ == "__main__":
    sys.exit(main())
