"""The backend starts, restarts and stops vLLM; a scripted process replaces vLLM."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coevolve_policy_server.api_errors import ApiError
from coevolve_policy_server.chat_request import ChatRequest, parse_chat_request
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.chat.tokenizer import train_tokenizer, write_tokenizer
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_vllm.backend import VllmBackend
from coevolve_vllm.vllm_process import VllmCommand
from random_policies import random_adapter, random_policy

SCRIPTED = Path(__file__).parents[1] / "support" / "scripted_vllm"


@dataclass
class Setup:
    """A backend, policies to load, and the records of the scripted vLLM."""

    backend: VllmBackend
    store: Path
    script: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.script.read_text().splitlines()]

    @property
    def starts(self) -> list[dict[str, str]]:
        """The command line options of each started vLLM."""
        return [_options(record["start"]) for record in self.records if "start" in record]

    def policy(self, family: str) -> str:
        folder, _ = random_policy(self.store, family)
        return _with_tokenizer(folder, {"method": "import"})

    def adapter(self, model: str) -> str:
        folder, _ = random_adapter(self.store / model)
        return _with_tokenizer(folder, {"method": "sft", "model_hash": model})

    async def load(self, policy_hash: str) -> None:
        await self.backend.load(policy_hash, self.store / policy_hash)

    async def start_slow_request(self, policy_hash: str) -> asyncio.Task[Any]:
        """Sends a request that is not completed before `release`; returns when vLLM has received it."""
        task = asyncio.create_task(self.backend.complete(chat_request(policy_hash, "slow")))
        while not any(record.get("path") == "/v1/completions" for record in self.records):
            await asyncio.sleep(0.01)
        return task

    def release(self) -> None:
        self.script.with_name("release").touch()


def run_test(
    tmp_path: Path, test: Callable[[Setup], Awaitable[None]], *arguments: str, max_context: int = 300
) -> Setup:
    """Runs `test` while the backend runs; vLLM is started with `arguments`."""
    os.environ["COEVOLVE_SCRIPT"] = str(tmp_path / "script.jsonl")
    command = VllmCommand(
        Path(sys.executable), arguments, max_context=max_context, threads=None, on_cpu=False
    )
    setup = Setup(VllmBackend(command), tmp_path / "store", tmp_path / "script.jsonl")

    async def run() -> None:
        async with setup.backend.running():
            await test(setup)

    asyncio.run(asyncio.wait_for(run(), 60))
    return setup


@pytest.fixture(autouse=True)
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTED))


def chat_request(policy_hash: str, *stop: str) -> ChatRequest:
    messages = [{"role": "user", "content": "?"}]
    body = {"model": policy_hash, "messages": messages, "stop": list(stop), "max_tokens": 4}
    return parse_chat_request(body)


def test_vllm_is_started_with_the_base_model_of_a_policy_and_with_the_rank_of_its_adapter(
    tmp_path: Path,
) -> None:
    async def test(setup: Setup) -> None:
        model = setup.policy("llama")
        await setup.load(model)
        adapter = setup.adapter(model)
        await setup.load(adapter)
        completion = await setup.backend.complete(chat_request(adapter))
        assert (completion.token_ids, completion.logprobs) == ([5], [-0.5])
        with pytest.raises(ApiError, match="does not exist"):  # vLLM was restarted for the adapter
            await setup.backend.complete(chat_request(model))
        await setup.load(model)
        assert sorted(setup.backend.policies) == sorted([model, adapter])

    whole, adapted = run_test(tmp_path, test).starts
    assert "--enable-lora" not in whole
    assert whole == {
        "--host": "127.0.0.1",
        "--port": whole["--port"],
        "--model": whole["--model"],
        "--generation-config": "vllm",
        "--uvicorn-log-level": "warning",
        "--dtype": "float32",
        "--max-model-len": "300",
        "--served-model-name": Path(whole["--model"]).name,
    }
    assert (adapted["--model"], adapted["--max-lora-rank"]) == (whole["--model"], "8")


def test_functions_reach_vllm_as_token_ids_of_the_policys_own_format(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "count_rows", "parameters": {}}}

    async def test(setup: Setup) -> None:
        folder, _ = random_policy(setup.store, "qwen3")
        (folder / "chat_format.json").write_text('{"name": "qwen3", "tools": true}')
        policy = _with_tokenizer(folder, {"method": "import"})
        await setup.load(policy)
        body = {
            "model": policy,
            "messages": [{"role": "user", "content": "?"}],
            "max_tokens": 4,
            "tools": [tool],
        }
        completion = await setup.backend.complete(parse_chat_request(body))
        encoder = ChatEncoder.load(setup.store / policy)
        assert completion.prompt_ids == encoder.prompt_ids([{"role": "user", "content": "?"}], [tool])
        assert '"count_rows"' in encoder.decode(completion.prompt_ids)
        plain = setup.policy("llama")
        await setup.load(plain)
        with pytest.raises(ApiError, match=r"policy\.functions: text"):
            await setup.backend.complete(parse_chat_request({**body, "model": plain}))

    records = run_test(tmp_path, test, max_context=4096).records
    (sent,) = (record["body"] for record in records if record.get("path") == "/v1/completions")
    assert isinstance(sent["prompt"], list)
    assert "tools" not in sent


def test_a_base_model_is_replaced_after_its_last_request_is_completed(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        one, other = setup.policy("llama"), setup.policy("qwen3")
        await setup.load(one)
        request = await setup.start_slow_request(one)
        loading = asyncio.create_task(setup.load(other))
        while setup.backend.policies:
            await asyncio.sleep(0.01)
        with pytest.raises(ApiError, match="does not exist"):
            await setup.backend.complete(chat_request(one))
        assert len(setup.starts) == 1
        assert not request.done()
        setup.release()
        assert (await request).token_ids == [5]
        await loading
        assert setup.backend.policies == [other]

    assert len(run_test(tmp_path, test).starts) == 2


def test_a_cancelled_request_does_not_delay_the_replacement_of_the_base_model(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        one, other = setup.policy("llama"), setup.policy("qwen3")
        await setup.load(one)
        (await setup.start_slow_request(one)).cancel()
        await setup.load(other)

    run_test(tmp_path, test)


def test_a_killed_vllm_is_started_again_by_the_next_load(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        policy = setup.policy("llama")
        await setup.load(policy)
        request = await setup.start_slow_request(policy)
        assert setup.backend._vllm is not None
        os.kill(setup.backend._vllm._process.pid, signal.SIGKILL)
        with pytest.raises(ApiError, match="vLLM sent no response") as failed:
            await request
        assert (failed.value.status, failed.value.retry_after) == (503, 1)
        while setup.backend.policies:
            await asyncio.sleep(0.01)
        assert setup.backend.health()["vllm"] == {"state": "ended", "base": policy}
        with pytest.raises(ApiError, match="does not exist"):
            await setup.backend.complete(chat_request(policy))
        await setup.load(policy)
        assert (await setup.backend.complete(chat_request(policy))).token_ids == [5]

    assert len(run_test(tmp_path, test).starts) == 2


def test_an_adapter_is_loaded_into_vllm_once_and_unloaded(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        adapter = setup.adapter(setup.policy("qwen2"))
        await asyncio.gather(setup.load(adapter), setup.load(adapter))
        await setup.backend.unload(adapter)
        with pytest.raises(ApiError, match="does not exist"):
            await setup.backend.unload(adapter)

    paths = [record["path"] for record in run_test(tmp_path, test).records if "path" in record]
    assert paths == ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"]


def test_an_error_of_vllm_is_returned_with_its_message(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        policy = setup.policy("llama")
        await setup.load(policy)
        with pytest.raises(ApiError, match="vLLM responded: the request is invalid") as failed:
            await setup.backend.complete(chat_request(policy, "invalid"))
        assert failed.value.status == 400

    run_test(tmp_path, test)


def test_a_vllm_that_exits_at_its_start_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        with pytest.raises(ApiError, match="vLLM exited with code 3; its output is in this server's log"):
            await setup.load(setup.policy("llama"))
        assert setup.backend.health() == {"vllm": {"state": "idle", "base": None}}

    run_test(tmp_path, test, "--fail")


def _with_tokenizer(folder: Path, fields: dict[str, str]) -> str:
    (folder / "manifest.json").unlink()
    write_tokenizer(train_tokenizer(["a b"], vocabulary_size=300), folder, max_positions=512)
    policy_hash = write_manifest(folder, fields)
    folder.rename(folder.parent / policy_hash)
    return policy_hash


def _options(arguments: list[str]) -> dict[str, str]:
    """Returns a command line's options with their values; the value of a flag is empty."""
    following = [*arguments[1:], "--"]
    pairs = zip(arguments, following, strict=True)
    return {word: "" if value.startswith("--") else value for word, value in pairs if word.startswith("--")}
