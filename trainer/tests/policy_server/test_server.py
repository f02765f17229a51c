"""The policy server over HTTP."""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from safetensors.torch import load_file, save_file

from coevolve_policy_server.__main__ import add_server_options, read_token
from coevolve_policy_server.app import create_app
from coevolve_policy_server.engine import Engine
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_trainer.models.weight_files import WEIGHTS
from job_folder import SOURCES
from loaded_policy import load_model
from policy_server_process import QUESTIONS, complete, start


def test_a_completion_has_vllms_format(server: str, model: str, trained: Path) -> None:
    body = complete(server, model, logprobs=True, return_token_ids=True).json()
    (choice,) = body["choices"]
    encoder = ChatEncoder.load(trained)
    assert body["object"] == "chat.completion"
    assert body["model"] == model
    assert body["prompt_token_ids"] == encoder.prompt_ids(QUESTIONS[0])
    assert choice["message"] == {"role": "assistant", "content": encoder.decode(choice["token_ids"])}
    assert choice["finish_reason"] == "stop"
    assert choice["token_ids"][-1] == encoder.end_id
    assert len(choice["logprobs"]["content"]) == len(choice["token_ids"])
    prompt_tokens, tokens = len(body["prompt_token_ids"]), len(choice["token_ids"])
    assert body["usage"] == {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": tokens,
        "total_tokens": prompt_tokens + tokens,
    }
    assert model in [served["id"] for served in httpx.get(f"{server}/v1/models").json()["data"]]


def test_logprobs_equal_those_of_transformers(server: str, model: str, trained: Path) -> None:
    body = complete(server, model, logprobs=True, return_token_ids=True, temperature=1.5, seed=4).json()
    (choice,) = body["choices"]
    prompt, action = body["prompt_token_ids"], choice["token_ids"]
    with torch.no_grad():
        logits = load_model(trained)(input_ids=torch.tensor([prompt + action])).logits[0]
    expected = logits.log_softmax(-1)[range(len(prompt) - 1, len(prompt) + len(action) - 1), action]
    found = torch.tensor([entry["logprob"] for entry in choice["logprobs"]["content"]])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_a_completion_is_bit_identical_with_and_without_concurrent_requests(server: str, model: str) -> None:
    def fields(index: int) -> dict[str, Any]:
        question = QUESTIONS[index % len(QUESTIONS)]
        sampling = {"temperature": index % 3 / 2, "top_p": 1 - index % 2 / 4, "seed": index}
        return {"messages": question, **sampling, "logprobs": True, "return_token_ids": True}

    async def concurrent() -> list[dict[str, Any]]:
        async with httpx.AsyncClient(timeout=60) as client:
            bodies = [{"model": model, "max_tokens": 24, **fields(i)} for i in range(64)]
            url = f"{server}/v1/chat/completions"
            return [r.json() for r in await asyncio.gather(*(client.post(url, json=body) for body in bodies))]

    one_by_one = [complete(server, model, **fields(i)).json()["choices"] for i in range(64)]
    assert [body["choices"] for body in asyncio.run(concurrent())] == one_by_one


def test_the_seed_determines_the_sampled_tokens(server: str, model: str) -> None:
    def sample(seed: int) -> list[int]:
        body = complete(server, model, seed=seed, temperature=3.0, return_token_ids=True).json()
        ids: list[int] = body["choices"][0]["token_ids"]
        return ids

    assert sample(1) == sample(1)
    assert len({tuple(sample(seed)) for seed in range(8)}) > 1


def test_a_completion_ends_at_a_stop_string_at_max_tokens_or_at_the_context(server: str, model: str) -> None:
    (choice,) = complete(server, model, stop=[" FROM"], return_token_ids=True).json()["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["stop_reason"] == " FROM"
    assert " FROM" not in choice["message"]["content"]

    (choice,) = complete(server, model, max_tokens=3, return_token_ids=True).json()["choices"]
    assert (choice["finish_reason"], len(choice["token_ids"])) == ("length", 3)

    long = [{"role": "user", "content": "pets " * 100}]
    body = complete(server, model, messages=long, max_tokens=1000, temperature=8.0, seed=1).json()
    assert body["usage"]["total_tokens"] <= 256


REJECTED: list[tuple[dict[str, Any], int, str, str]] = [
    ({"response_format": {}}, 400, "unsupported_parameter", "response_format is not supported"),
    ({"presence_penalty": 0.5}, 400, "unsupported_parameter", "presence_penalty is not supported"),
    ({"n": 2}, 400, "invalid_value", "n: found 2, expected 1"),
    ({"stream": True}, 400, "invalid_value", "stream: found True, expected false"),
    ({"temperature": -1}, 400, "invalid_value", "temperature: found -1, expected a number from 0 to 100"),
    ({"max_tokens": 0}, 400, "invalid_value", "max_tokens: found 0, expected an integer from 1"),
    ({"messages": []}, 400, "invalid_value", "messages: found [], expected a list of at least one message"),
    ({"messages": [{"role": "robot", "content": ""}]}, 400, "invalid_value", "messages[0].role: found"),
    ({"messages": [{"role": "user", "content": None}]}, 400, "invalid_value", "messages[0].content: found"),
    (
        {"messages": [{"role": "user", "content": "x" * 999}]},
        400,
        "context_length_exceeded",
        "context is 256",
    ),
    ({"name": "missing"}, 404, "model_not_found", "The model `missing` does not exist."),
]


@pytest.mark.parametrize(("fields", "status", "code", "message"), REJECTED)
def test_an_unsupported_request_is_rejected_with_the_parameter(
    fields: dict[str, Any], status: int, code: str, message: str, server: str, model: str
) -> None:
    name = fields.get("name", model)
    response = complete(server, name, **{key: value for key, value in fields.items() if key != "name"})
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert message in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe{",
        b"[" * 100_000,
        *(b'{"n": %s}' % (b"[" * n + b"]" * n) for n in range(880, 1000, 10)),
    ],
)
def test_a_body_that_cannot_be_read_is_rejected(body: bytes, server: str) -> None:
    response = httpx.post(f"{server}/v1/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in ("invalid_json", "invalid_value")


def test_text_that_the_tokenizer_cannot_encode_is_rejected(server: str, model: str) -> None:
    body = {"model": model, "messages": [{"role": "user", "content": "half \ud83d"}]}
    response = httpx.post(f"{server}/v1/chat/completions", content=json.dumps(body).encode())
    assert response.status_code == 400
    assert "the policy's tokenizer refused the prompt" in response.json()["error"]["message"]


def test_a_policy_with_another_hash_is_not_loaded(server: str, trained: Path) -> None:
    response = httpx.post(
        f"{server}/v1/load_lora_adapter", json={"lora_name": "f" * 64, "lora_path": str(trained)}
    )
    assert response.status_code == 400
    assert "expected " + "f" * 64 in response.json()["error"]["message"]


TOOL = {"type": "function", "function": {"name": "count_rows", "parameters": {"type": "object"}}}


@pytest.fixture
def long_server() -> Iterator[str]:
    """A server whose context has room for functions."""
    child, address = start("--max-context", "1024")
    yield address
    child.terminate()
    child.wait(5)


def test_functions_are_rendered_in_the_policys_own_format_as_in_its_rows(
    long_server: str, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "functions"
    shutil.copytree(trained, folder)
    (folder / "chat_format.json").write_text('{"name": "qwen3", "tools": true}')
    name = write_manifest(folder, {"method": "sft"})
    body = {"lora_name": name, "lora_path": str(folder)}
    assert httpx.post(f"{long_server}/v1/load_lora_adapter", json=body).status_code == 200
    encoder = ChatEncoder.load(folder)

    messages = [*QUESTIONS[0]]
    prompts: list[list[int]] = []
    for _ in range(2):
        options = {"tools": [TOOL], "tool_choice": "none", "return_token_ids": True, "max_tokens": 8}
        response = complete(long_server, name, messages=messages, **options)
        assert response.status_code == 200, response.text
        prompts.append(response.json()["prompt_token_ids"])
        messages += [response.json()["choices"][0]["message"], {"role": "user", "content": "next"}]
    assert '"count_rows"' in encoder.decode(prompts[0])
    assert prompts[1][: len(prompts[0])] == prompts[0]
    row = encoder.segment(messages[:-1], [TOOL]).input_ids  # as a row of reference actions
    assert row[: len(prompts[1])] == prompts[1]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": [TOOL]}, "policy.functions: text"),  # the scratch policy has no format of its own
        ({"tools": {}}, "tools"),
        ({"tools": [{"name": "count_rows"}]}, "tools[0]"),
        ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice"),
    ],
)
def test_functions_that_a_policy_cannot_read_are_rejected(
    server: str, model: str, fields: dict[str, Any], named: str
) -> None:
    response = complete(server, model, **fields)
    assert response.status_code == 400
    assert named in response.json()["error"]["message"]


def test_two_policies_are_served_until_one_is_unloaded(server: str, model: str, base: Path) -> None:
    other = sha256_of_file(base / "manifest.json")
    httpx.post(f"{server}/v1/load_lora_adapter", json={"lora_name": other, "lora_path": str(base)})
    contents = [complete(server, name).json()["choices"][0]["message"]["content"] for name in (model, other)]
    assert contents[0] != contents[1]
    assert httpx.post(f"{server}/v1/unload_lora_adapter", json={"lora_name": other}).status_code == 200
    assert complete(server, other).status_code == 404
    assert complete(server, model).status_code == 200


def test_a_policy_with_nan_weights_responds_500_and_does_not_affect_others(
    server: str, model: str, trained: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(trained, broken)
    weights = {name: torch.full_like(w, torch.nan) for name, w in load_file(trained / WEIGHTS).items()}
    save_file(weights, broken / WEIGHTS)
    name = write_manifest(broken, {"method": "sft"})
    body = {"lora_name": name, "lora_path": str(broken)}
    assert httpx.post(f"{server}/v1/load_lora_adapter", json=body).status_code == 200
    response = complete(server, name)
    assert response.status_code == 500
    assert "the policy's logits are not finite" in response.json()["error"]["message"]
    assert complete(server, model).status_code == 200


def test_a_full_queue_responds_429_and_a_disconnected_client_frees_its_slot(server: str, model: str) -> None:
    async def overload() -> httpx.Response:
        """Sends more requests than slots and queue can hold; disconnects after the first 429."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            body = {"model": model, "messages": QUESTIONS[0], "temperature": 9.0, "max_tokens": 200}
            url = f"{server}/v1/chat/completions"
            requests = [asyncio.create_task(client.post(url, json=body)) for _ in range(200)]
            try:
                for request in asyncio.as_completed(requests):
                    response = await request
                    if response.status_code == 429:
                        return response
            finally:
                for task in requests:
                    task.cancel()
                await asyncio.gather(*requests, return_exceptions=True)
        raise AssertionError("no request was rejected")

    assert asyncio.run(overload()).headers["retry-after"] == "1"
    assert complete(server, model).status_code == 200  # although 32 slots and the queue of 80 were full


def test_with_a_token_every_route_except_health_requires_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    parser = argparse.ArgumentParser()
    add_server_options(parser)
    arguments = parser.parse_args(["--port", "1", "--token-file", str(tmp_path / "token")])
    app = create_app(Engine(slots=1, max_context=64, max_waiting=1), token=read_token(parser, arguments))

    async def statuses(token: str | None) -> list[int]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport, url = httpx.ASGITransport(app), "http://server"
        async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers) as client:
            found = [(await client.get(path)).status_code for path in ("/health", "/v1/models")]
            for path in ("load_lora_adapter", "unload_lora_adapter", "chat/completions"):
                found.append((await client.post(f"/v1/{path}", json={})).status_code)
            return found

    assert asyncio.run(statuses(None)) == [200, 401, 401, 401, 401]
    assert asyncio.run(statuses("wrong")) == [200, 401, 401, 401, 401]
    assert asyncio.run(statuses("secret")) == [200, 200, 400, 400, 400]


def test_a_host_that_is_not_loopback_requires_a_token() -> None:
    command = [sys.executable, "-m", "coevolve_policy_server", "--host", "0.0.0.0", "--port", "1"]
    child = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True
    )
    assert child.returncode == 2
    assert "--host 0.0.0.0 is not loopback: add --token-file" in child.stderr
