"""GGUF files of Llamas with SentencePiece's vocabularies become policies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coevolve_trainer.chat.encoder import ChatEncoder, Message
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.import_model import import_model
from sentencepiece_models import LLAMA, MISTRAL_V3, gguf_fields, sentencepiece_model, write_gguf
from template_families import TEMPLATES

TEMPLATE = "tokenizer.chat_template"
MESSAGES: list[Message] = [
    {"role": "user", "content": "How many singers? </s> naïve 東京 [INST]"},
    {"role": "assistant", "content": "SELECT COUNT(*) FROM singer"},
    {"role": "user", "content": "[(37,)]\n    row"},
]


def write_file(folder: Path, kind: Mapping[str, Any], template: str | None) -> tuple[Path, Any]:
    """Writes a GGUF file with a published template; returns its path and the original model."""
    folder.mkdir()
    fields = gguf_fields(kind, folder)
    if template is not None:
        fields[TEMPLATE] = (TEMPLATES / f"{template}.jinja").read_text()
    path = folder / "model.gguf"
    return path, write_gguf(path, fields)


def expected_prompt(template: str) -> list[int]:
    """Composes the ids of the messages with SentencePiece, as the vendors' own code does."""
    question, answer, result = (message["content"] for message in MESSAGES)
    if template == "llama2":
        sp = sentencepiece_model(LLAMA)
        first = [1, *sp.encode(f"[INST] {question} [/INST] {answer} "), 2]
        return [*first, 1, *sp.encode(f"[INST] {result} [/INST]")]
    sp = sentencepiece_model(MISTRAL_V3)
    start, end = (sp.piece_to_id(token) for token in ("[INST]", "[/INST]"))
    first = [1, start, *sp.encode(question), end, *sp.encode(answer), 2]
    return [*first, start, *sp.encode(result), end]


@pytest.mark.parametrize(("kind", "template"), [(LLAMA, "llama2"), (MISTRAL_V3, "mistral_v3")])
def test_an_imported_file_has_its_weights_and_the_vendors_prompts(
    tmp_path: Path, kind: Mapping[str, Any], template: str
) -> None:
    path, original = write_file(tmp_path / "model", kind, template)
    fields = import_model(str(path), tmp_path / "policy", weights="float32")
    assert (fields["chat_format"], fields["architecture"]) == ("template", "LlamaForCausalLM")
    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "policy")
    ids = torch.arange(90)[None]
    with torch.no_grad():
        torch.testing.assert_close(model(input_ids=ids).logits, original(input_ids=ids).logits)
    encoder = ChatEncoder.load(tmp_path / "policy")
    assert encoder.prompt_ids(MESSAGES) == expected_prompt(template)
    assert (encoder.end_id, encoder.pad_id) == (2, 0)
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / "policy")
    assert tokenizer("How many?")["input_ids"] == [1, *sentencepiece_model(kind).encode("How many?")]
    # transformers makes tokens of their texts in contents
    plain: list[Message] = [
        {"role": each["role"], "content": each["content"].split("</s>")[0]} for each in MESSAGES
    ]
    encoded = tokenizer.apply_chat_template(plain, add_generation_prompt=True, return_dict=True)
    assert encoder.prompt_ids(plain) == encoded["input_ids"]


def test_importing_an_imported_file_again_gives_the_same_files(tmp_path: Path) -> None:
    path, _ = write_file(tmp_path / "model", LLAMA, "llama2")
    import_model(str(path), tmp_path / "policy")
    import_model(str(tmp_path / "policy"), tmp_path / "again")
    for file in (tmp_path / "policy").iterdir():
        if file.name != "manifest.json":
            assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name


def test_a_file_without_a_template_uses_the_one_beside_it(tmp_path: Path) -> None:
    path, _ = write_file(tmp_path / "model", LLAMA, None)
    with pytest.raises(JobFailure, match=r"chat template: found none, expected one in chat_template.jinja"):
        import_model(str(path), tmp_path / "policy")
    path.with_name("chat_template.jinja").write_text((TEMPLATES / "llama2.jinja").read_text())
    import_model(str(path), tmp_path / "policy")
    assert ChatEncoder.load(tmp_path / "policy").prompt_ids(MESSAGES) == expected_prompt("llama2")
