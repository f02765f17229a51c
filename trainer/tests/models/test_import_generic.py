"""Models of no verified family are imported with their own template, or refused with a typed error."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coevolve_trainer.chat.encoder import ChatEncoder, Message
from coevolve_trainer.chat.template_format import TemplateFormat
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.decoder_config import read_decoder_config
from coevolve_trainer.models.import_model import import_model
from coevolve_trainer.models.model_limits import limit_to_window
from template_families import STABLE, UNSTABLE
from template_models import write_model

MESSAGES: list[Message] = [
    {"role": "system", "content": "Write SQL."},
    {"role": "user", "content": "  How many singers? naïve 東京\n"},
    {"role": "assistant", "content": "SELECT COUNT(*) FROM singer"},
    {"role": "user", "content": "[(7,)]"},
]


@pytest.mark.parametrize(
    ("name", "model_type", "server"),
    [
        ("llama2", "llama", True),
        ("mistral-v3", "mistral", True),
        ("gemma", "gemma", False),
        ("phi3", "phi3", False),
    ],
)
def test_a_model_of_no_verified_family_is_imported_with_its_own_template(
    tmp_path: Path, name: str, model_type: str, server: bool
) -> None:
    settings: dict[str, Any] = {"pad_token_id": 0} if model_type == "phi3" else {}
    if model_type == "mistral":
        settings = {"sliding_window": None}
    folder = write_model(tmp_path / "model", STABLE[name], model_type, **settings)
    fields = import_model(str(folder), tmp_path / "policy")
    assert (fields["chat_format"], fields["tools"]) == ("template", False)
    notes = fields["notes"]
    assert isinstance(notes, list)
    assert notes[0].startswith("chat format template: the model's own template, checked on conversations")
    has_remedy = any("COEVOLVE_POLICY_SERVER=vllm" in note for note in notes)
    assert has_remedy is not server
    encoder = ChatEncoder.load(tmp_path / "policy")
    assert isinstance(encoder.chat_format, TemplateFormat)
    turns = encoder.chat_format.turns(MESSAGES)
    for path in ("model", "policy"):
        tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / path)
        encoded = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
        assert encoder.prompt_ids(MESSAGES) == encoded["input_ids"]
    again = import_model(str(tmp_path / "policy"), tmp_path / "again")
    for file in (tmp_path / "policy").iterdir():
        if file.name != "manifest.json":
            assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name
    assert again["chat_format"] == "template"


def test_llama2s_own_tokenizer_class_gives_the_ids_of_transformers(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", STABLE["llama2"], "llama")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    for number, legacy in enumerate((True, False)):
        text = json.dumps({**config, "tokenizer_class": "LlamaTokenizer", "legacy": legacy})
        (folder / "tokenizer_config.json").write_text(text)
        import_model(str(folder), tmp_path / f"policy-{number}")
        encoder = ChatEncoder.load(tmp_path / f"policy-{number}")
        for path in (folder, tmp_path / f"policy-{number}"):
            tokenizer: Any = AutoTokenizer.from_pretrained(path)
            encoded = tokenizer.apply_chat_template(MESSAGES, return_dict=True)
            assert encoder.prompt_ids(MESSAGES) == encoded["input_ids"]


def test_a_template_that_shortens_late_is_not_taken_for_the_family_of_its_first_prompts(
    tmp_path: Path,
) -> None:
    folder = write_model(tmp_path / "model", UNSTABLE["shortened-late"], "llama")
    with pytest.raises(JobFailure, match=r"changes an earlier prompt at message \d+ \(user\)"):
        import_model(str(folder), tmp_path / "policy")


def test_an_unstable_template_leaves_nothing_and_fold_system_is_its_remedy(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", UNSTABLE["mistral-v3-moved"], "mistral", sliding_window=None)
    with pytest.raises(JobFailure, match=r"at message 0 \(system\): .* --fold-system"):
        import_model(str(folder), tmp_path / "policy")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    fields = import_model(str(folder), tmp_path / "policy", fold_system=True)
    assert "a system message begins the first user message" in str(fields["notes"])


@pytest.mark.parametrize(
    ("chat_format", "message"),
    [
        ("vicuna", r"--chat-format: found vicuna, expected one of chatml, .*, template"),
        ("chatml", r"--chat-format: found chatml, whose token <\|im_start\|> the tokenizer lacks"),
        ("qwen3", r"--chat-format: found qwen3, whose token <\|im_start\|> the tokenizer lacks"),
        ("llama3.1", r"--chat-format: found llama3.1, whose token <\|start_header_id\|> the tokenizer lacks"),
    ],
)
def test_a_chat_format_of_other_tokens_is_a_typed_error(
    tmp_path: Path, chat_format: str, message: str
) -> None:
    folder = write_model(tmp_path / "model", STABLE["llama2"], "llama")
    with pytest.raises(JobFailure, match=message) as raised:
        import_model(str(folder), tmp_path / "policy", chat_format=chat_format)
    assert raised.value.type == "bad-input"


def test_a_sliding_window_becomes_the_limit_of_positions(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", STABLE["mistral-v1"], "mistral", sliding_window=64)
    fields = import_model(str(folder), tmp_path / "policy")
    assert "limited to 64 tokens, its sliding window" in str(fields["notes"])
    assert read_decoder_config(tmp_path / "policy").positions == 64
    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "policy")
    assert model.config.sliding_window is None
    assert limit_to_window(model) == []
    original: Any = AutoModelForCausalLM.from_pretrained(folder)
    tokens = torch.arange(60)[None]
    with torch.no_grad():
        logits = [each(input_ids=tokens).logits for each in (original, model)]
    torch.testing.assert_close(*logits)
