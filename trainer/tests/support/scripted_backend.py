"""A backend whose vLLM is a scripted process, with policies to load and the records of that process."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from coevolve_policy_server.chat_request import ChatRequest, parse_chat_request
from coevolve_trainer.chat.tokenizer import train_tokenizer, write_tokenizer
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_vllm.backend import VllmBackend
from coevolve_vllm.vllm_command import VllmCommand
from random_policies import random_adapter, random_policy

SCRIPTED = Path(__file__).parent / "scripted_vllm"


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
        return [options_of(record["start"]) for record in self.records if "start" in record]

    @property
    def paths(self) -> list[str]:
        """The paths of all requests for other things than completions, in order."""
        paths = [record["path"] for record in self.records if "path" in record]
        return [path for path in paths if path != "/v1/completions"]

    def policy(self, family: str, seed: int = 0) -> str:
        """Creates a policy. Policies of other seeds have the same architecture and another hash."""
        folder, _ = random_policy(self.store, family)
        return with_tokenizer(folder, {"method": "import", "seed": str(seed)})

    def adapter(self, model: str) -> str:
        folder, _ = random_adapter(self.store / model)
        return with_tokenizer(folder, {"method": "sft", "model_hash": model})

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
    tmp_path: Path,
    test: Callable[[Setup], Awaitable[None]],
    *arguments: str,
    max_context: int = 300,
    **options: Any,
) -> Setup:
    """Runs `test` while a backend with `options` runs; vLLM is started with `arguments`."""
    variables = {"PYTHONPATH": str(SCRIPTED), "COEVOLVE_SCRIPT": str(tmp_path / "script.jsonl")}
    command = VllmCommand(
        Path(sys.executable), arguments, max_context=max_context, threads=None, on_cpu=False
    )
    backend = VllmBackend(command, linger_s=0, **options)
    setup = Setup(backend, tmp_path / "store", tmp_path / "script.jsonl")

    async def run() -> None:
        async with setup.backend.running():
            await test(setup)

    with patch.dict(os.environ, variables):
        asyncio.run(asyncio.wait_for(run(), 60))
    return setup


def chat_request(policy_hash: str, *stop: str) -> ChatRequest:
    messages = [{"role": "user", "content": "?"}]
    body = {"model": policy_hash, "messages": messages, "stop": list(stop), "max_tokens": 4}
    return parse_chat_request(body)


def with_tokenizer(folder: Path, fields: dict[str, str]) -> str:
    (folder / "manifest.json").unlink()
    write_tokenizer(train_tokenizer(["a b"], vocabulary_size=300), folder, max_positions=512)
    policy_hash = write_manifest(folder, fields)
    folder.rename(folder.parent / policy_hash)
    return policy_hash


def options_of(arguments: list[str]) -> dict[str, str]:
    """Returns a command line's options with their values; the value of a flag is empty."""
    following = [*arguments[1:], "--"]
    pairs = zip(arguments, following, strict=True)
    return {word: "" if value.startswith("--") else value for word, value in pairs if word.startswith("--")}
