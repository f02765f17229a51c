"""One attempt at one task: code blocks until the task is complete or the step limit is reached."""

from coevolve_environments.plugins.appworld.code_action import code_of
from coevolve_environments.plugins.appworld.dataset import DEFAULT_STEPS, TRAIN, Dataset, turn_limit
from coevolve_environments.plugins.validation import require_fields
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import BadRequest, Json, Observation

OBSERVATION_CHARACTERS = 6_000
_NO_CODE = "No code was found: put Python in a block that begins with ```python and ends with ```."
_FAILED = "Execution failed."
_INSTRUCTION = """You do a task for your supervisor by Python code: one block per turn, from ```python to ```.
The block runs at once, in one interpreter that keeps its variables, and you see what it prints.
The apps are called through `apis`: `apis.<app>.<api>(...)`. To learn what there is:
print(apis.api_docs.show_app_descriptions())
print(apis.api_docs.show_api_descriptions(app_name="..."))
print(apis.api_docs.show_api_doc(app_name="...", api_name="..."))
The supervisor's accounts, passwords, addresses and cards are in the app `supervisor`. Lists come in pages.
When the task is done, call apis.supervisor.complete_task(), with `answer=` if the task asks for one."""


class AppWorldEpisode:
    """Task goal completion (Trivedi et al. 2024, arXiv:2407.18901): 1 when all tests of the task pass."""

    def __init__(self, pool: ChildPool, dataset: Dataset, definition: Json, code_seconds: int) -> None:
        self._task, self._subset = _checked(definition, dataset)
        self.task_id: str = definition["task_id"]
        self.split = "train" if self._subset == TRAIN else "held-out"
        self._dense = definition.get("dense") is True and self._subset == TRAIN
        self._query: str | None = definition.get("query")
        self._limit = turn_limit(definition.get("max_turns", DEFAULT_STEPS))
        self._child = EpisodeChild(pool, last_call="close")
        self._dataset = dataset
        self._code_seconds = code_seconds
        self._turn = 0
        self._rows: list[str] = []
        self._error: str | None = None

    def open(self) -> Observation:
        seconds = self._code_seconds
        world = self._child.call("open", task=self._task, code_seconds=seconds, instruction=self._query)
        person = world["supervisor"]
        lines = [
            f"Supervisor: {person['first_name']} {person['last_name']}, {person['email']}, "
            f"{person['phone_number']}",
            f"Date: {world['datetime']}",
            f"Task: {world['instruction']}",
        ]
        messages = [
            {"role": "system", "content": f"{_INSTRUCTION}\nYou have {self._limit} turns."},
            {"role": "user", "content": "\n".join(lines)},
        ]
        return Observation(messages, turn=0, instruction=world["instruction"])

    def act(self, content: str) -> Observation:
        self._turn += 1
        code = code_of(content)
        if code is None:
            self._error = "no-code"
            return self._observe(_NO_CODE, completed=False)
        result = self._child.call("execute", code=code)
        self._error = "execution-failed" if result["output"].startswith(_FAILED) else None
        return self._observe(_truncated(result["output"]), completed=result["completed"])

    def state(self) -> Json:
        """Returns the rows that differ from the world's start, and the answer."""
        state = dict(self._child.call("state"))
        self._rows = state.pop("rows")
        return state

    def changes(self, state: Json) -> list[str]:
        lines = self._rows
        return lines if state["answer"] is None else [*lines, f"answer: {state['answer']}"]

    def close(self) -> None:
        self._child.close()

    def _observe(self, output: str, *, completed: bool) -> Observation:
        messages = [{"role": "user", "content": output}]
        if not completed and self._turn < self._limit:
            return Observation(messages, self._turn)
        if self._query is not None:  # the tests are about another task
            return self._finish(messages, completed=completed)
        tests = self._child.call("evaluate", gold=self._dataset.evaluation(self._task))
        raw = tests["passed"] / tests["total"]
        reward = raw if self._dense else float(tests["success"])
        counts = {"tests_passed": tests["passed"], "tests_total": tests["total"]}
        return self._finish(
            messages, completed=completed, reward=reward, raw_score=raw, success=tests["success"], **counts
        )

    def _finish(
        self,
        messages: list[dict[str, str]],
        *,
        completed: bool,
        reward: float = 0.0,
        raw_score: float = 0.0,
        success: bool = False,
        **counts: int,
    ) -> Observation:
        return Observation.final(
            messages,
            self._turn,
            reward=reward,
            raw_score=raw_score,
            success=success,
            stop_reason="completed" if completed else "turn-limit",
            error_type=self._error,
            **counts,
        )


def _checked(definition: Json, dataset: Dataset) -> tuple[str, str]:
    require_fields(definition, {"task_id": str, "task": str, "subset": str})
    task, subset = definition["task"], definition["subset"]
    if task not in dataset.tasks(subset):
        raise BadRequest(f"unknown task {task!r} in set {subset!r} of {dataset.name}")
    return task, subset


def _truncated(output: str) -> str:
    text = output.rstrip()
    if len(text) <= OBSERVATION_CHARACTERS:
        return text
    return f"{text[:OBSERVATION_CHARACTERS]}\n... {len(text) - OBSERVATION_CHARACTERS} more characters"
