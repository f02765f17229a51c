"""The policy server as a real process, spoken to over HTTP."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from safetensors.torch import load_file, save_file

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_trainer.models.weight_files import WEIGHTS
from job_folder import SOURCES
from loaded_policy import load_model
from policy_server_process import QUESTIONS, ask, start


def test_an_answer_has_the_shape_that_vllm_gives_it(server: str, model: str, trained: Path) -> None:
    body = ask(server, model, logprobs=True, return_token_ids=True).json()
    (choice,) = body["choices"]
    encoder = ChatEncoder.load(trained)
    assert body["object"] == "chat.completion"
    assert body["model"] == model
    assert body["prompt_token_ids"] == encoder.prompt_ids(QUESTIONS[0])
    assert choice["message"] == {"role": "assistant", "content": encoder.decode(choice["token_ids"])}
    assert choice["finish_reason"] == "stop"
    assert choice["token_ids"][-1] == encoder.end_id
    assert len(choice["logprobs"]["content"]) == len(choice["token_ids"])
    prompt, answer = len(body["prompt_token_ids"]), len(choice["token_ids"])
    assert body["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
    }
    assert httpx.get(f"{server}/v1/models").json()["data"][0]["id"] == model


def test_logprobs_equal_a_plain_transformers_forward(server: str, model: str, trained: Path) -> None:
    body = ask(server, model, logprobs=True, return_token_ids=True, temperature=1.5, seed=4).json()
    (choice,) = body["choices"]
    prompt, answer = body["prompt_token_ids"], choice["token_ids"]
    with torch.no_grad():
        logits = load_model(trained)(input_ids=torch.tensor([prompt + answer])).logits[0]
    plain = logits.log_softmax(-1)[range(len(prompt) - 1, len(prompt) + len(answer) - 1), answer]
    found = torch.tensor([entry["logprob"] for entry in choice["logprobs"]["content"]])
    torch.testing.assert_close(found, plain, atol=1e-4, rtol=0)


def test_an_answer_is_bit_identical_alone_and_among_others(server: str, model: str) -> None:
    def fields(index: int) -> dict[str, Any]:
        question = QUESTIONS[index % len(QUESTIONS)]
        sampling = {"temperature": index % 3 / 2, "top_p": 1 - index % 2 / 4, "seed": index}
        return {"messages": question, **sampling, "logprobs": True, "return_token_ids": True}

    async def together() -> list[dict[str, Any]]:
        async with httpx.AsyncClient(timeout=60) as client:
            bodies = [{"model": model, "max_tokens": 24, **fields(i)} for i in range(64)]
            url = f"{server}/v1/chat/completions"
            return [r.json() for r in await asyncio.gather(*(client.post(url, json=body) for body in bodies))]

    alone = [ask(server, model, **fields(i)).json()["choices"] for i in range(64)]
    assert [body["choices"] for body in asyncio.run(together())] == alone


def test_the_seed_decides_what_is_sampled(server: str, model: str) -> None:
    def answers(seed: int) -> list[int]:
        reply = ask(server, model, seed=seed, temperature=3.0, return_token_ids=True).json()
        ids: list[int] = reply["choices"][0]["token_ids"]
        return ids

    assert answers(1) == answers(1)
    assert len({tuple(answers(seed)) for seed in range(8)}) > 1


def test_an_answer_ends_before_a_stop_text_at_its_budget_or_at_the_context(server: str, model: str) -> None:
    (choice,) = ask(server, model, stop=[" FROM"], return_token_ids=True).json()["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["stop_reason"] == " FROM"
    assert " FROM" not in choice["message"]["content"]

    (choice,) = ask(server, model, max_tokens=3, return_token_ids=True).json()["choices"]
    assert (choice["finish_reason"], len(choice["token_ids"])) == ("length", 3)

    long = [{"role": "user", "content": "pets " * 100}]
    body = ask(server, model, messages=long, max_tokens=1000, temperature=8.0, seed=1).json()
    assert body["usage"]["total_tokens"] <= 256


REFUSED: list[tuple[dict[str, Any], int, str, str]] = [
    ({"tools": []}, 400, "unsupported_parameter", "tools is not supported"),
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
    ({"name": "nobody"}, 404, "model_not_found", "The model `nobody` does not exist."),
]


@pytest.mark.parametrize(("fields", "status", "code", "message"), REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(
    fields: dict[str, Any], status: int, code: str, message: str, server: str, model: str
) -> None:
    name = fields.get("name", model)
    reply = ask(server, name, **{key: value for key, value in fields.items() if key != "name"})
    assert reply.status_code == status
    assert reply.json()["error"]["code"] == code
    assert message in reply.json()["error"]["message"]


def test_a_policy_under_a_wrong_name_is_not_loaded(server: str, trained: Path) -> None:
    reply = httpx.post(
        f"{server}/v1/load_lora_adapter", json={"lora_name": "f" * 64, "lora_path": str(trained)}
    )
    assert reply.status_code == 400
    assert "expected " + "f" * 64 in reply.json()["error"]["message"]


def test_two_policies_are_served_side_by_side_until_unloaded(server: str, model: str, base: Path) -> None:
    other = sha256_of_file(base / "manifest.json")
    httpx.post(f"{server}/v1/load_lora_adapter", json={"lora_name": other, "lora_path": str(base)})
    contents = [ask(server, name).json()["choices"][0]["message"]["content"] for name in (model, other)]
    assert contents[0] != contents[1]
    assert httpx.post(f"{server}/v1/unload_lora_adapter", json={"lora_name": other}).status_code == 200
    assert ask(server, other).status_code == 404
    assert ask(server, model).status_code == 200


def test_a_policy_of_nans_says_500_and_harms_no_other(
    server: str, model: str, trained: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(trained, broken)
    weights = {name: torch.full_like(w, torch.nan) for name, w in load_file(trained / WEIGHTS).items()}
    save_file(weights, broken / WEIGHTS)
    name = write_manifest(broken, {"method": "sft"})
    body = {"lora_name": name, "lora_path": str(broken)}
    assert httpx.post(f"{server}/v1/load_lora_adapter", json=body).status_code == 200
    reply = ask(server, name)
    assert reply.status_code == 500
    assert "the policy's logits are not finite" in reply.json()["error"]["message"]
    assert ask(server, model).status_code == 200


def test_a_full_queue_says_429_and_a_client_that_left_frees_its_slot(server: str, model: str) -> None:
    async def crowd() -> list[int]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            body = {"model": model, "messages": QUESTIONS[0], "temperature": 9.0, "max_tokens": 200}
            url = f"{server}/v1/chat/completions"
            asked = [asyncio.create_task(client.post(url, json=body)) for _ in range(200)]
            refused = [
                task.result() for task in asked if await asyncio.wait({task}, timeout=0.5) and task.done()
            ]
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            assert all(reply.headers["retry-after"] == "1" for reply in refused if reply.status_code == 429)
            return [reply.status_code for reply in refused]

    assert 429 in asyncio.run(crowd())
    assert ask(server, model).status_code == 200  # at once, though 32 slots and 80 places were taken


def test_the_token_guards_every_route_but_health(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    child, address = start("--token-file", str(tmp_path / "token"))
    try:
        assert httpx.get(f"{address}/v1/models").status_code == 401
        headers = {"Authorization": "Bearer secret"}
        assert httpx.get(f"{address}/v1/models", headers=headers).status_code == 200
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(5)


def test_without_a_token_only_loopback_is_served() -> None:
    command = [sys.executable, "-m", "coevolve_policy_server", "--host", "0.0.0.0", "--port", "1"]
    child = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True
    )
    assert child.returncode == 2
    assert "--host 0.0.0.0 is not loopback: add --token-file" in child.stderr
