"""One world of one attempt: AppWorld's own environment server, called through ASGI in the same process.

No port is opened, so only the parent reaches the world. Calls run in the main thread on a separate event
loop: the engine limits the time of a code block by a signal, which Python delivers only to the main thread,
and starlette's TestClient would use another thread.
"""

import asyncio
import json
import resource
import shutil
from pathlib import Path
from typing import Any

from coevolve_environments.protocol import Json

_EXPERIMENT = "coevolve"
TASK_PARTS = ("specs.json", "dbs")
"""Files and folders of a task that the engine reads during an attempt; the others are gold."""
_MEGABYTE = 2**20
_NO_ANSWER = (None, "", "<<NOT_GIVEN>>")
"""At the start, and after a completion without an answer."""
_MAX_OUTPUT_CHARACTERS = 200_000  # per block; the observation is much shorter


def load() -> None:
    """Imports the engine with its 457 APIs, which takes seconds and starts no thread."""
    from appworld.apps import get_all_apps
    from appworld.collections.api_docs import ApiDocCollection
    from appworld.common.utils import import_apis_module, import_models_module
    from appworld.serve import environment  # noqa: F401

    for app in get_all_apps():
        import_models_module(app)
        import_apis_module(app)
    ApiDocCollection.load(load_apps=tuple(get_all_apps(skip_admin=True)), include_response_schemas=True)


class World:
    """A world has no gold before its evaluation; its process should end after it."""

    def __init__(self, data: Path, tasks: Path, memory_mb: int) -> None:
        """
        Args:
            data: folder of all tasks, possibly with gold.
            tasks: folder that the engine reads; gets links to the parts of a task without gold.
        """
        import httpx
        from appworld.serve import environment

        self._data, self._tasks = data, tasks
        self._serve = environment
        transport = httpx.ASGITransport(app=environment.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://world", timeout=None)
        self._loop = asyncio.new_event_loop()
        self._task = ""
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * _MEGABYTE, memory_mb * _MEGABYTE))

    def open(self, task: str, code_seconds: int, instruction: str | None) -> Json:
        folder = self._tasks / task
        folder.mkdir(exist_ok=True)
        for name in TASK_PARTS:
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(self._data / task / name)
        opened: Json = self._post(
            "initialize",
            task_id=task,
            experiment_name=_EXPERIMENT,
            load_ground_truth=False,
            timeout_seconds=code_seconds,
        )
        self._task = task
        if instruction is not None:
            self._replace_instruction(instruction)
            opened["instruction"] = instruction
        return opened

    def execute(self, code: str) -> Json:
        output = self._post("execute", task_id=self._task, code=code)
        completed = self._post("task_completed", task_id=self._task)
        return {"output": output[:_MAX_OUTPUT_CHARACTERS], "completed": completed}

    def state(self) -> Json:
        """Returns the hashes of added, changed and removed rows by model, and the answer.

        As in AppWorld's evaluations, the hash of a row leaves out its id, so equal rows that were added in
        another order are equal.
        """
        models = self._models()
        changes = {
            name: [sorted(row.record_hash for row in rows) for rows in models.changed_records(name)]
            for name in models.changed_model_names()
        }
        answer = json.loads(models.end.supervisor.Task.all()[0].answer)
        return {
            "changes": changes,
            "answer": None if answer in _NO_ANSWER else str(answer).strip().casefold(),
        }

    def evaluate(self, gold: dict[str, str]) -> Json:
        from appworld.ground_truth import GroundTruth

        folder = self._tasks / self._task / "ground_truth"
        folder.mkdir(exist_ok=True)
        try:
            for name, text in gold.items():
                (folder / name).write_text(text, encoding="utf8")
            self._serve.world.task.ground_truth = GroundTruth.load(self._task)
            tests = self._post("evaluate", task_id=self._task, suppress_errors=True)
        finally:
            shutil.rmtree(folder)  # otherwise the next attempt in this home could read it
        return {
            "passed": len(tests["passes"]),
            "total": tests["num_tests"],
            "success": tests["success"],
            "failed": [failure["requirement"] for failure in tests["failures"]],
        }

    def _replace_instruction(self, instruction: str) -> None:
        """The world's own APIs show the instruction too."""
        task = self._models().end.supervisor.Task.all()[0]
        task.instruction = instruction
        task.save()

    def _models(self) -> Any:
        """Returns the rows at the start and now, loaded as by the package's evaluator."""
        from appworld.apps.model_lib import get_db_home_path
        from appworld.collections.models import ModelCollection, ModelCollectionPair

        world = self._serve.world
        start = world.task.model_collection
        now = get_db_home_path(storage_type="memory", type="task_output", task_id=self._task)
        end = ModelCollection.load(
            to_db_home_path=now,
            from_db_home_path=world.output_db_home_path_on_disk,
            load_apps=world.task.allowed_apps,
        )
        return ModelCollectionPair(start.from_db_home_path, start, now, end)

    def _post(self, route: str, **body: Any) -> Any:
        response = self._loop.run_until_complete(self._client.post(f"/{route}", json=body))
        if response.status_code != 200:
            raise RuntimeError(
                f"AppWorld returned status {response.status_code} for {route}: {response.text[:500]}"
            )
        return response.json()["output"]
