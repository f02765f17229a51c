"""Builds the small world.

Runs in the engine's interpreter, with the package's public classes. It writes the documentation of the APIs,
empty databases of the apps, and for each task the rows of our people and notes. The gold goes into a separate
folder that only the owner can read.
"""

import json
import os
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.appworld import mini_evaluation
from coevolve_environments.plugins.appworld.dataset import HELD_OUT, SOLUTION, TRAIN
from coevolve_environments.plugins.appworld.mini_notes import (
    APP,
    NOTES,
    NOW,
    PEOPLE,
    WRITTEN,
    MiniTask,
    Person,
    mini_tasks,
)
from coevolve_environments.protocol import Json

_DOCUMENTED = ("api_docs", "supervisor", APP)
"""Apps with data in this world. The documentation of all eleven would take four seconds more."""
_COUNTS = {"num_apps": 1, "num_apis": 1, "num_api_calls": 1, "num_solution_code_lines": 1}
"""Required by the loader, which would otherwise format the solution to count them; no test reads them."""


def build(root: str) -> None:
    """Creates `data` and `gold` in the folder."""
    folder = Path(root)
    os.environ["APPWORLD_ROOT"] = str(folder)
    os.environ["APPWORLD_CACHE"] = str(folder / "cache")
    from appworld.apps import get_all_apps
    from appworld.collections.api_docs import ApiDocCollection
    from appworld.collections.models import ModelCollection

    docs = ApiDocCollection.build(load_apps=_DOCUMENTED)
    for app in get_all_apps(skip_admin=True):
        apis = docs.get(app, {})
        # The loader requires the key; these files contain no AppWorld data and need no canary.
        marked = {name: {**doc, "canary_string": ""} for name, doc in apis.items()}
        _write(folder / "data" / "api_docs" / "standard" / f"{app}.json", marked)
    base = folder / "data" / "base_dbs"
    base.mkdir(parents=True)
    models = ModelCollection.load(to_db_home_path=str(base), load_apps=get_all_apps(), create_db=True)
    for app in _DOCUMENTED:  # the engine's API reads these rows, and its loader the files
        for doc in docs[app].values():
            row = dict(doc)
            models.api_docs.ApiDoc.create_save(app_name_=row.pop("app_name"), **row)
    models.close()
    for task in mini_tasks():
        world = ModelCollection.load(
            to_db_home_path=f":memory:{task.id}", from_db_home_path=str(base), load_apps=get_all_apps()
        )
        _fill(world, task)
        rows = folder / "data" / "tasks" / task.id / "dbs"
        world.save(str(rows), format="changes", save_model_hashes=True, delete_if_exists=True)
        world.close()
        _write(rows.parent / "specs.json", _specs(task))
        _write_gold(folder / "gold" / task.id, task)
    (folder / "gold").chmod(0o700)
    for subset, split in ((TRAIN, "train"), (HELD_OUT[0], "held-out")):
        ids = [task.id for task in mini_tasks() if task.split == split]
        _write_text(folder / "data" / "datasets" / f"{subset}.txt", "\n".join(ids))


def _fill(world: Any, task: MiniTask) -> None:
    from freezegun import freeze_time

    with freeze_time(WRITTEN):
        supervisor = world.supervisor.Supervisor.create_save(**_identity(PEOPLE[0]))
        world.supervisor.Task.create_save(supervisor_id=supervisor.id, instruction=task.instruction)
        world.supervisor.AccountPassword.create_save(
            supervisor_id=supervisor.id, account_name=APP, password=PEOPLE[0].password
        )
        for person in PEOPLE:
            world.admin.MainUser.create_save(**_identity(person))
            user = world.simple_note.User.create_save(
                first_name=person.first_name,
                last_name=person.last_name,
                email=person.email,
                password=person.password,
                verified=True,
            )
            for note in NOTES:
                world.simple_note.Note.create_save(
                    user_id=user.id, title=note.title, content=note.content, tags=list(note.tags)
                )


def _identity(person: Person) -> Json:
    names = ("first_name", "last_name", "email", "phone_number", "birthday")
    return {name: getattr(person, name) for name in names}


def _specs(task: MiniTask) -> Json:
    names = ("first_name", "last_name", "email", "phone_number")
    return {
        "instruction": task.instruction,
        "supervisor": {name: getattr(PEOPLE[0], name) for name in names},
        "datetime": NOW,
        "db_version": _version(),
    }


def _version() -> str:
    from appworld.common.constants import DB_VERSION

    return str(DB_VERSION)


def _write_gold(folder: Path, task: MiniTask) -> None:
    expected = {"removed": task.removed, "added": task.added, "pinned": task.pinned}
    requirements = [
        mini_evaluation.CHANGES,
        mini_evaluation.REMOVED,
        mini_evaluation.ADDED,
        mini_evaluation.PINNED,
        mini_evaluation.ANSWER,
    ]
    _write(folder / "metadata.json", {**_COUNTS, "difficulty": task.difficulty, "mode": "minimal"})
    _write(folder / "public_data.json", {})
    _write(folder / "private_data.json", expected)
    _write(folder / "answer.json", task.answer)
    _write(folder / "test_data.json", [{"requirement": text, "label": "no_op_fail"} for text in requirements])
    _write(folder / SOLUTION, task.solution)
    _write_text(folder / "evaluation.py", Path(mini_evaluation.__file__).read_text(encoding="utf8"))


def _write(file: Path, value: Any) -> None:
    _write_text(file, json.dumps(value))


def _write_text(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf8")
