"""The backend starts, restarts and stops vLLM; a scripted process replaces vLLM."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from coevolve_policy_server.api_errors import ApiError
from coevolve_policy_server.chat_request import parse_chat_request
from coevolve_trainer.chat.encoder import ChatEncoder
from random_policies import random_policy
from scripted_backend import Setup, chat_request, run_test, with_tokenizer


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
        "--dtype": "bfloat16",
        "--max-model-len": "300",
        "--served-model-name": "base",
        "--enable-sleep-mode": "",
    }
    assert (adapted["--model"], adapted["--max-lora-rank"]) == (whole["--model"], "8")


def test_functions_reach_vllm_as_token_ids_of_the_policys_own_format(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "count_rows", "parameters": {}}}

    async def test(setup: Setup) -> None:
        folder, _ = random_policy(setup.store, "qwen3")
        (folder / "chat_format.json").write_text('{"name": "qwen3", "tools": true}')
        policy = with_tokenizer(folder, {"method": "import"})
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
        (slot,) = setup.backend._slots
        assert slot.process is not None
        os.kill(slot.process._process.pid, signal.SIGKILL)
        with pytest.raises(ApiError, match="vLLM sent no response") as failed:
            await request
        assert (failed.value.status, failed.value.retry_after) == (503, 1)
        while setup.backend.policies:
            await asyncio.sleep(0.01)
        assert setup.backend.health()["vllm"] == [{"state": "ended", "base": policy, "devices": []}]
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
        assert setup.backend.health() == {"vllm": [{"state": "idle", "base": None, "devices": []}]}

    run_test(tmp_path, test, "--fail")
