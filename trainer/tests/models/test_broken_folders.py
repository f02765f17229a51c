"""A folder that is no intact model is rejected with the file or the field, and what was expected there."""

import json
from pathlib import Path

import pytest
from test_import_model import SMALL_LLAMA, create_folder
from tokenizers import Tokenizer

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.import_model import import_model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"chat_template.jinja": "{{ messages[0]['content'] }}"},
            r"chat template: found one that renders messages 0 of 3 \(user, assistant, user\)",
        ),
        (
            {"chat_template.jinja": None},
            "chat template: found none, expected one in .*; or set --chat-format",
        ),
        (
            {"tokenizer.json": None},
            r"no tokenizer.json, expected .*; AutoTokenizer\.from_pretrained\(folder\).*writes it",
        ),
        (
            {"config.json": '{"model_type": "clip"}'},
            "model_type: found clip, expected a causal language model",
        ),
        (
            {"model.safetensors": None},
            r"no model.safetensors, expected .*; AutoModelForCausalLM\.from_pretrained\(folder\).*writes it",
        ),
        ({"model.safetensors": "damaged"}, "expected the files of an intact model"),
        ({"model.safetensors": f"{chr(127) * 8}{{}}"}, "expected the files of an intact model"),
        ({"config.json": "[]"}, "config.json: found a list, expected a JSON object"),
        ({"config.json": "[" * 100_000}, r"config.json: found invalid JSON \(maximum recursion depth"),
        ({"tokenizer_config.json": '{"a":'}, r"tokenizer_config.json: found invalid JSON \(Expecting value"),
        (
            {"chat_template.jinja": "\ud800"},
            "chat_template.jinja: found 'utf-8' codec .*, expected text in UTF-8",
        ),
        (
            {"config.json": json.dumps({**SMALL_LLAMA, "model_type": "llama", "num_attention_heads": 3})},
            r"source: found .* \(Strict.*Error: .* not a multiple .*\), expected the files of an intact",
        ),
        (
            {"config.json": json.dumps({**SMALL_LLAMA, "model_type": "llama", "intermediate_size": 32})},
            r"mismatched: model.layers.0.mlp.down_proj.weight of \[8, 64\] instead of \[8, 32\], "
            ".* and 3 more, expected those that its config.json describes",
        ),
        (
            {"config.json": json.dumps({**SMALL_LLAMA, "model_type": "llama", "num_hidden_layers": 3})},
            r"missing: model.layers.2.input_layernorm.weight, .* and 6 more, expected",
        ),
        (
            {"config.json": json.dumps({**SMALL_LLAMA, "model_type": "llama", "hidden_size": 2**40})},
            "mismatched: lm_head",
        ),
        ({"tokenizer.json": "{}"}, "expected the files of an intact model"),
        (
            {"chat_template.jinja": "{{ 1 / 0 }}"},
            "chat template: found one that rejects .* ZeroDivisionError",
        ),
        (
            {"chat_template.jinja": "{{ messages.__class__.__mro__[1].__subclasses__() }}"},
            "chat template: found one that rejects the roles user: SecurityError",
        ),
    ],
)
def test_an_unsupported_folder_is_rejected_with_the_value_found(
    tmp_path: Path, change: dict[str, str | None], message: str
) -> None:
    folder = create_folder(tmp_path / "model")
    for name, text in change.items():
        path = folder / name
        path.unlink() if text is None else path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(JobFailure, match=message) as raised:
        import_model(str(folder), tmp_path / "policy")
    assert raised.value.type == "bad-input"
    assert "\n" not in raised.value.message  # the service shows one line
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_tokenizer_with_more_ids_than_the_model_is_rejected(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "model")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens(["<pad>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(
        JobFailure, match=r"tokenizer: found id 49152 \(<pad>\), expected ids below 49152"
    ) as raised:
        import_model(str(folder), tmp_path / "policy")
    assert raised.value.type == "bad-input"
