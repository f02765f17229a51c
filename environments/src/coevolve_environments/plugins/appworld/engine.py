"""The child's side: AppWorld's own environment server, called in its process through ASGI.

No port is opened, so nobody but the parent can reach the world. The calls run in the main thread on a loop
of their own: the engine bounds the time of a code block by a signal, which Python delivers to the main thread
only, and starlette's TestClient would run the application in another.
"""

import asyncio
import os
import resource
import shutil
from pathlib import Path
from typing import Any

from coevolve_environments.protocol import Json

_EXPERIMENT = "coevolve"
_LINKED = ("api_docs", "base_dbs")
_MEGABYTE = 2**20
_CAPTURED = 200_000  # characters of output that go to the parent at most; it shows far fewer


class Engine:
    """One world at a time, below the process's own home. The gold is not there before the evaluation."""

    def __init__(self, data: str, memory_mb: int) -> None:
        """
        Args:
            data: folder with `api_docs`, `base_dbs` and `tasks`.
            memory_mb: bound of the private memory: past it the code gets a MemoryError.
        """
        self._data = Path(data)
        self._root = Path.home() / "appworld"
        (self._root / "data" / "tasks").mkdir(parents=True)
        for name in _LINKED:
            (self._root / "data" / name).symlink_to(self._data / name)
        os.environ["APPWORLD_ROOT"] = str(self._root)
        os.environ["APPWORLD_CACHE"] = str(self._root / "cache")
        import httpx
        from appworld.apps import get_all_apps
        from appworld.common.utils import import_apis_module, import_models_module
        from appworld.serve import environment

        for app in get_all_apps():  # 457 APIs take seconds: not in the time of the first episode
            import_models_module(app)
            import_apis_module(app)
        transport = httpx.ASGITransport(app=environment.app)
        self._serve = environment
        self._client = httpx.AsyncClient(transport=transport, base_url="http://world", timeout=None)
        self._loop = asyncio.new_event_loop()
        self._task = ""
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * _MEGABYTE, memory_mb * _MEGABYTE))

    def open(self, task: str, code_seconds: int) -> Json:
        """A fresh world of the task, instead of the one before: its instruction, supervisor and date."""
        folder = self._root / "data" / "tasks" / task
        folder.mkdir(exist_ok=True)
        for name in ("specs.json", "dbs"):
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(self._data / "tasks" / task / name)
        opened: Json = self._post(
            "initialize",
            task_id=task,
            experiment_name=_EXPERIMENT,
            load_ground_truth=False,
            timeout_seconds=code_seconds,
        )
        self._task = task
        return opened

    def execute(self, code: str) -> Json:
        """Runs the code; gives its output and whether the task was marked complete."""
        output = self._post("execute", task_id=self._task, code=code)
        completed = self._post("task_completed", task_id=self._task)
        return {"output": output[:_CAPTURED], "completed": completed}

    def evaluate(self, gold: dict[str, str]) -> Json:
        """Runs the task's tests on the world as it stands.

        Args:
            gold: the files of the task's `ground_truth` folder that its evaluation needs.
        """
        from appworld.ground_truth import GroundTruth

        folder = self._root / "data" / "tasks" / self._task / "ground_truth"
        folder.mkdir(exist_ok=True)
        try:
            for name, text in gold.items():
                (folder / name).write_text(text, encoding="utf8")
            self._serve.world.task.ground_truth = GroundTruth.load(self._task)
            tests = self._post("evaluate", task_id=self._task, suppress_errors=True)
        finally:
            shutil.rmtree(folder)  # or the next attempt in this process could read it
        return {
            "passed": len(tests["passes"]),
            "total": tests["num_tests"],
            "success": tests["success"],
            "failed": [failure["requirement"] for failure in tests["failures"]],
        }

    def _post(self, route: str, **body: Any) -> Any:
        response = self._loop.run_until_complete(self._client.post(f"/{route}", json=body))
        if response.status_code != 200:
            raise RuntimeError(f"AppWorld answered {response.status_code} to {route}: {response.text[:500]}")
        return response.json()["output"]
