"""Evaluates the saved state of an attempt, with AppWorld's own evaluator, where no code of the policy ran."""

import json
import linecache
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from coevolve_environments.plugins.appworld.folders import EXPERIMENT, state_folders
from coevolve_environments.protocol import Json

_NO_ANSWER = (None, "", "<<NOT_GIVEN>>")
"""At the start, and after a completion without an answer."""
_PROGRAM = "evaluation.py"  # the evaluator looks for this name in tracebacks
_CHANGED = -1  # count of changes that no table has at the start
_MAX_BYTES = 128 * 2**20  # of all apps together
_STATEMENT = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)"?[\s(]')
_FULL_TEXT = "_fts"  # suffix of the table with the searched text of another


class Evaluation:
    def __init__(self, task: str, attempt: Path) -> None:
        """
        Args:
            attempt: folder of the attempt, whose processes have ended; this process has another.
        """
        self._task = task
        self._start = Path(os.environ["APPWORLD_ROOT"]) / "data" / "tasks" / task / "dbs"
        self._end = Path.cwd().joinpath(*state_folders(task))
        self._end.mkdir(parents=True)
        tables = _tables()
        names = {app: set(models.values()) for app, models in tables.items()}
        changed = copy_state((attempt, state_folders(task)), self._start, self._end, names)
        self._write_counts(tables, changed)

    def evaluate(self, gold: dict[str, str]) -> Json:
        from appworld.evaluator import evaluate_task

        _give_gold(self._task, gold)
        tests = evaluate_task(self._task, EXPERIMENT, suppress_errors=True, save_report=False)
        found = tests.to_dict(stats_only=False)
        return {
            "passed": len(found["passes"]),
            "total": found["num_tests"],
            "success": found["success"],
            "failed": [failure["requirement"] for failure in found["failures"]],
        }

    def state(self) -> Json:
        """Returns the hashes of added, changed and removed rows by model, the answer, and the rows as lines.

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
            "rows": [line for name in sorted(changes) for line in _row_lines(models, name)],
        }

    def _models(self) -> Any:
        """Returns the rows at the start and at the end, loaded as by the package's evaluator."""
        from appworld.apps.model_lib import get_db_home_path
        from appworld.collections.models import ModelCollection, ModelCollectionPair
        from appworld.task import Task

        task = Task.load(self._task, load_ground_truth=False)
        start = task.model_collection
        home = get_db_home_path(storage_type="memory", type="task_output", task_id=self._task)
        end = ModelCollection.load(
            to_db_home_path=home, from_db_home_path=str(self._end), load_apps=task.allowed_apps
        )
        return ModelCollectionPair(start.from_db_home_path, start, home, end)

    def _write_counts(self, tables: dict[str, dict[str, str]], changed: dict[str, set[str]]) -> None:
        """Writes the number of changes of each table, by which the package skips unchanged ones.

        The attempt's own numbers could hide a change.
        """
        name = "model_hashes.json"
        file = self._start / name
        counts: dict[str, dict[str, int]] = json.loads(file.read_text()) if file.exists() else {}
        for app, models in tables.items():
            for model, table in models.items():
                if table in changed[app]:
                    counts.setdefault(app, {})[model] = _CHANGED
        (self._end / name).write_text(json.dumps(counts))


def _row_lines(models: Any, name: str) -> Iterator[str]:
    """Yields the content of each added and removed row, and what has changed in the others."""
    added, changed, removed = models.changed_records(name)
    before = {row.id: _values(row) for row in models.changed_records(name, "start")[1]}
    for kind, rows in (("added", added), ("removed", removed)):
        for row in rows:
            content = ", ".join(f"{key} {value}" for key, value in _values(row).items())
            yield f"{kind} {name} {row.id}: {content}"
    for row in changed:
        old, new = before.get(row.id, {}), _values(row)
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        content = ", ".join(f"{key} {old.get(key, 'nothing')} -> {new.get(key, 'nothing')}" for key in keys)
        yield f"changed {name} {row.id}: {content}"


def _values(row: Any) -> dict[str, str]:
    """Returns the fields of a row that have a value, as JSON, without its id and what the engine adds."""
    return {
        str(key): json.dumps(value, default=str, ensure_ascii=False)
        for key, value in dict(row.dict()).items()
        if key not in ("id", "record_hash", "_db_home_path") and value is not None
    }


def _tables() -> dict[str, dict[str, str]]:
    """Returns the table of each model by app."""
    from appworld.apps import get_all_apps
    from appworld.common.utils import import_models_module

    return {
        app: {
            name: str(model.__tablename__)
            for name, model in import_models_module(app).SQLModel.name_to_model().items()
        }
        for app in get_all_apps()
    }


def _give_gold(task: str, gold: dict[str, str]) -> None:
    """Gives the evaluator its gold without a file, which processes of the same user could read."""
    from appworld.common.utils import JsonPlus
    from appworld.ground_truth import GroundTruth, remove_canary

    def read(name: str) -> Any:
        return JsonPlus.loads(gold[f"{name}.json"]) if gold[f"{name}.json"].strip() else {}

    program = remove_canary(gold[_PROGRAM]).strip()
    truth = GroundTruth(
        task_id=task,
        required_apps=None,
        public_data=read("public_data"),
        private_data=read("private_data"),
        answer=json.loads(gold["answer.json"]),
        evaluation_code=program,
        solution_code="",
        compiled_solution_code="",
        generator_code="",
        test_data=read("test_data"),
        metadata=read("metadata"),
    )
    module = _module(gold[_PROGRAM])
    truth.evaluation_module = lambda: module
    GroundTruth.load = lambda *_, **__: truth


def _module(program: str) -> ModuleType:
    module = ModuleType("evaluation")
    linecache.cache[_PROGRAM] = (len(program), None, program.splitlines(keepends=True), _PROGRAM)
    exec(compile(program, _PROGRAM, "exec"), module.__dict__)
    return module


def copy_state(
    saved: tuple[Path, Sequence[str]], start: Path, target: Path, tables: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """Copies the statements of each app, and returns the tables by app that differ from the start's.

    The engine saves each app's database as the statements that lead to it from the published one. A policy's
    code may have written them: a statement may change rows of the app's tables, and nothing else.

    Args:
        saved: a folder of ours, and the folders below it that lead to the saved files.
        start: folder with the statements of the task's own databases.
        tables: names of the tables by app.

    Raises:
        ValueError, OSError: no state, or one that the engine cannot have saved. No link is followed.
    """
    folder = _open_folders(*saved)
    left, changed = _MAX_BYTES, {}
    try:
        for app, names in tables.items():
            text = _read(folder, f"{app}.jsonl", left)
            left -= len(text)
            changed[app] = _changed_tables(app, text, _lines(start / f"{app}.jsonl"), names)
            (target / f"{app}.jsonl").write_bytes(text)
    finally:
        os.close(folder)
    return changed


def _changed_tables(app: str, text: bytes, start: list[bytes], names: Collection[str]) -> set[str]:
    lines = text.split(b"\n")
    is_continued = lines[: len(start)] == start
    changed: set[str] = set(() if is_continued else names)
    for line in lines[len(start) if is_continued else 0 :]:
        if line.strip():
            changed.add(_table(app, line, names))
    return changed


def _table(app: str, line: bytes, names: Collection[str]) -> str:
    statement = json.loads(line)[0]
    found = _STATEMENT.match(statement) if isinstance(statement, str) else None
    table = found.group(1).removesuffix(_FULL_TEXT) if found else None
    if table not in names:
        raise ValueError(f"the attempt's saved state of {app} has a statement that is no change of a row")
    return str(table)


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().rstrip(b"\n").split(b"\n") if file.exists() else []


def _open_folders(root: Path, names: Sequence[str]) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open(root, flags)
    for name in names:
        outer = folder
        try:
            folder = os.open(name, flags, dir_fd=outer)
        finally:
            os.close(outer)
    return folder


def _read(folder: int, name: str, limit: int) -> bytes:
    # Without waiting: a named pipe would block.
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            raise ValueError(f"the attempt's saved state has no file {name} of at most {limit} bytes")
        text = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"the attempt's saved state has more than {limit} bytes in {name}")
    return text
