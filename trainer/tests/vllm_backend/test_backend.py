"""What the front does around vLLM, in whose place a scripted one is started."""

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
from coevolve_trainer.chat.tokenizer import train_tokenizer, write_tokenizer
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_vllm.backend import VllmBackend
from coevolve_vllm.vllm_process import VllmCommand
from random_policies import random_adapter, random_policy

SCRIPTED = Path(__file__).parents[1] / "support" / "scripted_vllm"


@dataclass
class Stage:
    """A front, policies to load, and what the scripted vLLM wrote down."""

    front: VllmBackend
    store: Path
    script: Path

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.script.read_text().splitlines()]

    @property
    def starts(self) -> list[dict[str, str]]:
        return [_options(note["start"]) for note in self.notes if "start" in note]

    def policy(self, family: str) -> str:
        folder, _ = random_policy(self.store, family)
        return _with_tokenizer(folder, {"method": "import"})

    def adapter(self, model: str) -> str:
        folder, _ = random_adapter(self.store / model)
        return _with_tokenizer(folder, {"method": "sft", "model_hash": model})

    async def load(self, name: str) -> None:
        await self.front.load(name, self.store / name)

    def release(self) -> None:
        self.script.with_name("release").touch()


def staged(tmp_path: Path, play: Callable[[Stage], Awaitable[None]], *arguments: str) -> Stage:
    os.environ["COEVOLVE_SCRIPT"] = str(tmp_path / "script.jsonl")
    command = VllmCommand(Path(sys.executable), arguments, max_context=300, threads=None, on_cpu=False)
    stage = Stage(VllmBackend(command), tmp_path / "store", tmp_path / "script.jsonl")

    async def run() -> None:
        async with stage.front.running():
            await play(stage)

    asyncio.run(asyncio.wait_for(run(), 60))
    return stage


@pytest.fixture(autouse=True)
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTED))


def asked(name: str, *stop: str) -> ChatRequest:
    messages = [{"role": "user", "content": "?"}]
    return parse_chat_request({"model": name, "messages": messages, "stop": list(stop), "max_tokens": 4})


def test_vllm_starts_with_the_base_of_what_is_loaded_and_room_for_its_adapter(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        model = stage.policy("llama")
        await stage.load(model)
        adapters = [stage.adapter(model)]
        await stage.load(adapters[0])
        answers = [await stage.front.complete(asked(name)) for name in adapters]
        assert [(answer.token_ids, answer.logprobs) for answer in answers] == [([5], [-0.5])]
        with pytest.raises(ApiError, match="does not exist"):  # the base came to be served without adapters
            await stage.front.complete(asked(model))
        await stage.load(model)
        assert sorted(stage.front.policies) == sorted([model, *adapters])

    whole, adapted = staged(tmp_path, play).starts
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


def test_a_base_gives_way_only_when_its_last_request_is_answered(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        one, other = stage.policy("llama"), stage.policy("qwen3")
        await stage.load(one)
        slow = asyncio.create_task(stage.front.complete(asked(one, "slow")))
        while not any(note.get("path") == "/v1/completions" for note in stage.notes):
            await asyncio.sleep(0.01)
        loading = asyncio.create_task(stage.load(other))
        while stage.front.policies:
            await asyncio.sleep(0.01)
        with pytest.raises(ApiError, match="does not exist"):
            await stage.front.complete(asked(one))
        assert len(stage.starts) == 1
        assert not slow.done()
        stage.release()
        assert (await slow).token_ids == [5]
        await loading
        assert stage.front.policies == [other]

    assert len(staged(tmp_path, play).starts) == 2


def test_a_client_that_left_does_not_keep_the_base(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        one, other = stage.policy("llama"), stage.policy("qwen3")
        await stage.load(one)
        slow = asyncio.create_task(stage.front.complete(asked(one, "slow")))
        await asyncio.sleep(0.2)
        slow.cancel()
        await stage.load(other)

    staged(tmp_path, play)


def test_a_vllm_that_ended_is_started_with_the_next_load(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        name = stage.policy("llama")
        await stage.load(name)
        waiting = asyncio.create_task(stage.front.complete(asked(name, "slow")))
        await asyncio.sleep(0.2)
        assert stage.front._vllm is not None
        os.kill(stage.front._vllm._process.pid, signal.SIGKILL)
        with pytest.raises(ApiError, match="vLLM sent no response") as ended:
            await waiting
        assert (ended.value.status, ended.value.retry_after) == (503, 1)
        while stage.front.policies:
            await asyncio.sleep(0.01)
        assert stage.front.health()["vllm"] == {"state": "ended", "base": name}
        with pytest.raises(ApiError, match="does not exist"):
            await stage.front.complete(asked(name))
        await stage.load(name)
        assert (await stage.front.complete(asked(name))).token_ids == [5]

    assert len(staged(tmp_path, play).starts) == 2


def test_an_adapter_is_loaded_once_and_unloaded_when_it_is_told(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        name = stage.adapter(stage.policy("qwen2"))
        await asyncio.gather(stage.load(name), stage.load(name))
        await stage.front.unload(name)
        with pytest.raises(ApiError, match="does not exist"):
            await stage.front.unload(name)

    paths = [note["path"] for note in staged(tmp_path, play).notes if "path" in note]
    assert paths == ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"]


def test_what_vllm_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        name = stage.policy("llama")
        await stage.load(name)
        with pytest.raises(ApiError, match="vLLM responded: this cannot be asked") as refused:
            await stage.front.complete(asked(name, "refuse"))
        assert refused.value.status == 400

    staged(tmp_path, play)


def test_a_vllm_that_does_not_start_says_how_it_ended(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        with pytest.raises(ApiError, match="vLLM exited with code 3; its output is in this server's log"):
            await stage.load(stage.policy("llama"))
        assert stage.front.health() == {"vllm": {"state": "idle", "base": None}}

    staged(tmp_path, play, "--fail")


def _with_tokenizer(folder: Path, facts: dict[str, str]) -> str:
    (folder / "manifest.json").unlink()
    write_tokenizer(train_tokenizer(["a b"], vocabulary_size=300), folder, max_positions=512)
    name = write_manifest(folder, facts)
    folder.rename(folder.parent / name)
    return name


def _options(words: list[str]) -> dict[str, str]:
    """A command line's options with their values; a flag has none."""
    following = [*words[1:], "--"]
    pairs = zip(words, following, strict=True)
    return {word: "" if value.startswith("--") else value for word, value in pairs if word.startswith("--")}
