"""Data folder in the layout of `appworld download data`: sets of tasks, their texts, their gold."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.appworld.code_action import code_action
from coevolve_environments.plugins.validation import boolean_option, integer_in_range, one_of, refuse_unknown
from coevolve_environments.protocol import Json, Split, TaskRecord

TRAIN = "train"
HELD_OUT = ("dev", "test_normal", "test_challenge")
GOLD_FILES = ("metadata.json", "public_data.json", "private_data.json", "answer.json", "evaluation.py")
_TEST_DATA = "test_data.json"
SOLUTION = "solution.json"
"""List of code blocks. The published data has one program per task instead, for train and dev."""
_SOLUTION_CALL = "solution(apis, requester)"  # as in the package's own `appworld verify tasks`
_CANARY = "# Canary String"
MAX_STEPS = 50
DEFAULT_STEPS = 30
"""CoEvolve's limit for AppWorld (arXiv:2604.15840)."""


@dataclass(frozen=True)
class Dataset:
    """
    data: folder with `datasets`, `tasks`, `api_docs` and `base_dbs`.
    gold: folder with the gold of each task, if it is not inside `data`.
    """

    name: str
    data: Path
    gold: Path | None = None
    _sets: dict[str, list[str]] = field(default_factory=dict)

    def tasks(self, subset: str) -> list[str]:
        """Returns the ids of a set in its own order, empty for a missing set.

        Raises:
            BadRequest: unknown set.
        """
        one_of(subset, "subset", (TRAIN, *HELD_OUT))
        if subset not in self._sets:
            file = self.data / "datasets" / f"{subset}.txt"
            lines = file.read_text(encoding="utf8").splitlines() if file.exists() else []
            # A line may carry a tag after a colon.
            self._sets[subset] = [line.split(":")[0].strip() for line in lines if line.strip()]
        return self._sets[subset]

    def record(self, task: str, subset: str, definition: Json) -> TaskRecord:
        """
        Args:
            definition: fields that the options add.
        """
        specs = self._specs(task)
        task_id = f"{self.name}/{task}"
        split: Split = "train" if subset == TRAIN else "held-out"
        scenario = task.rsplit("_", 1)[0]
        metadata = json.loads(self._gold_text(task, "metadata.json") or "{}")
        features = {
            "pattern": scenario,
            "scenario": scenario,
            "group": subset,
            "difficulty": int(metadata.get("difficulty", 1)),
        }
        own = {"task_id": task_id, "task": task, "subset": subset, "split": split}
        key = sha256(f"{self.name}/{task}".encode()).hexdigest()
        solution = [code_action(code) for code in self._solution(task)]
        return TaskRecord(
            task_id, split, specs["instruction"], {**own, **definition}, features, key, solution
        )

    def evaluation(self, task: str) -> dict[str, str]:
        """Returns the gold files that the evaluator reads, by name."""
        texts = {name: self._gold_text(task, name) for name in (*GOLD_FILES, _TEST_DATA)}
        if missing := [name for name in GOLD_FILES if texts[name] is None]:
            raise FileNotFoundError(
                f"evaluation of {task} failed: {self._gold_folder(task) / missing[0]} is missing"
            )
        return {name: text for name, text in texts.items() if text is not None}

    def _specs(self, task: str) -> Json:
        return dict(json.loads((self.data / "tasks" / task / "specs.json").read_text(encoding="utf8")))

    def _solution(self, task: str) -> list[str]:
        if (blocks := self._gold_text(task, SOLUTION)) is not None:
            return list(json.loads(blocks))
        program = self._gold_text(task, "compiled_solution.py")
        if program is None:
            return []
        kept = [line for line in program.splitlines() if _CANARY not in line]
        return ["\n".join([*kept, "", _SOLUTION_CALL])]

    def _gold_text(self, task: str, name: str) -> str | None:
        file = self._gold_folder(task) / name
        return file.read_text(encoding="utf8") if file.exists() else None

    def _gold_folder(self, task: str) -> Path:
        if self.gold is not None:
            return self.gold / task
        return self.data / "tasks" / task / "ground_truth"


@dataclass(frozen=True)
class Options:
    held_out: str = "dev"
    """Published set of the held-out split: dev, test_normal or test_challenge."""
    max_turns: int = DEFAULT_STEPS
    """1 to 50."""
    dense: bool = False
    """Rewards train tasks by passed tests / tests."""


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    chosen = Options(**options)
    one_of(chosen.held_out, "options.held_out", HELD_OUT)
    boolean_option(options, "dense", False)
    turn_limit(chosen.max_turns)
    return chosen


def turn_limit(value: object) -> int:
    return integer_in_range(value, "max_turns", MAX_STEPS)
