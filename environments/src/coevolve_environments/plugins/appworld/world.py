"""One world of one attempt: AppWorld's own environment server, called through ASGI in the same process.

No port is opened, so only the parent reaches the world. Calls run in the main thread on a separate event
loop: the engine limits the time of a code block by a signal, which Python delivers only to the main thread,
and starlette's TestClient would use another thread.
"""

import asyncio
from datetime import datetime
from typing import Any

from coevolve_environments.plugins.appworld.folders import EXPERIMENT
from coevolve_environments.protocol import Json

_MAX_OUTPUT_CHARACTERS = 200_000  # per block; the observation is much shorter


def load() -> None:
    """Imports the engine with its 457 APIs, which takes seconds and starts no thread."""
    import pytest  # noqa: F401  # the evaluator imports it at the first test that fails
    from appworld.apps import get_all_apps
    from appworld.apps.api_lib import set_local_date_and_time
    from appworld.collections.api_docs import ApiDocCollection
    from appworld.common.utils import import_apis_module, import_models_module
    from appworld.serve import environment  # noqa: F401

    for app in get_all_apps():
        import_models_module(app)
        import_apis_module(app)
    ApiDocCollection.load(load_apps=tuple(get_all_apps(skip_admin=True)), include_response_schemas=True)
    # The library that sets the date remembers the modules that it has searched, 0.1 s in each fork otherwise.
    set_local_date_and_time(datetime.now()).stop()


class World:
    """A world has no gold. The engine saves its databases after each block, for the evaluation."""

    def __init__(self, task: str) -> None:
        import httpx
        from appworld.serve import environment

        self._serve = environment
        transport = httpx.ASGITransport(app=environment.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://world", timeout=None)
        self._loop = asyncio.new_event_loop()
        self._task = task

    def open(self, code_seconds: int, instruction: str | None) -> Json:
        opened: Json = self._post(
            "initialize",
            task_id=self._task,
            experiment_name=EXPERIMENT,
            load_ground_truth=False,
            timeout_seconds=code_seconds,
        )
        if instruction is not None:
            self._replace_instruction(instruction)
            opened["instruction"] = instruction
        return opened

    def execute(self, code: str) -> Json:
        output = self._post("execute", task_id=self._task, code=code)
        completed = self._post("task_completed", task_id=self._task)
        return {"output": output[:_MAX_OUTPUT_CHARACTERS], "completed": completed}

    def _replace_instruction(self, instruction: str) -> None:
        """The world's own APIs show the instruction too."""
        models = self._serve.world.models
        models.reset_db_home_path()
        task = models.supervisor.Task.all()[0]
        task.instruction = instruction
        task.save()

    def _post(self, route: str, **body: Any) -> Any:
        response = self._loop.run_until_complete(self._client.post(f"/{route}", json=body))
        if response.status_code != 200:
            raise RuntimeError(
                f"AppWorld returned status {response.status_code} for {route}: {response.text[:500]}"
            )
        return response.json()["output"]
