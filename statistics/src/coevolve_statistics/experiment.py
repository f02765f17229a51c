"""The input of an analysis as classes. Its shape is declared in src/statistics/analysis-input.ts."""

import re
from dataclasses import dataclass

from .checked import ANALYSIS_VERSION, SCHEMAS, InputProblem, Json, checked, refuse
from .levels import look_level

MEASURES: list[str] = SCHEMAS["analysis"]["properties"]["match"]["properties"]["equal"]["items"]["enum"]
#: An arm and a seed.
CellKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Score:
    features: dict[str, str]
    reward: float
    #: Share of the attempts that solve the task.
    success: float
    #: Attempts with a score.
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Cell:
    finished: bool
    reason: str | None
    test_hash: str | None
    leaked_tasks: int
    #: Another cell of the table with the same content hash.
    copy_of: str | None
    #: Shares of its pool, by the metrics of contrasts; None where it has no such tasks.
    shares: dict[str, float | None]
    #: Nominal amounts until each checkpoint, by its number, ascending.
    effort: dict[int, dict[str, float]]

    @property
    def last(self) -> int:
        return next(reversed(self.effort))


@dataclass(frozen=True, slots=True)
class Metric:
    #: `success` or `reward` of a task.
    score: str
    #: Only tasks with this value of this feature.
    where: tuple[str, str] | None = None
    #: Measure on the x axis of an area under the learning curve.
    effort: str | None = None
    #: Share of the pool, as the cells name it.
    share: str | None = None
    #: The k of pass@k.
    passed: int | None = None


@dataclass(frozen=True, slots=True)
class Contrast:
    name: str
    plus: str
    minus: str
    #: Compared in place of the experiment's metric.
    share: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    arms: list[str]
    #: The arm that an arm repeats with other seeds, by its name.
    replicas: dict[str, str]
    look: int
    looks: list[int]
    #: Looks at the scores that were ever taken, under any version of the file.
    looks_taken: list[int]
    equal: list[str]
    within: dict[str, float]
    metric: Metric
    alpha: float
    primary: Contrast
    secondary: list[Contrast]
    ordering: list[str] | None
    margin: float
    breakdown: list[str]
    #: `trimmed`: a second verdict by the trimmed mean was declared beforehand.
    companion: str | None
    cells: dict[CellKey, Cell]
    #: Scores of the tasks, by cell, checkpoint and task.
    scores: dict[CellKey, dict[int, dict[str, Score]]]

    @property
    def seeds(self) -> range:
        return range(1, self.look + 1)

    def level(self, alpha: float) -> float:
        """Level of a test at this look: alpha is shared by the declared looks and all that were taken."""
        return look_level(alpha, [*self.looks, *self.looks_taken])

    def metric_of(self, contrast: Contrast) -> Metric:
        return Metric("success", share=contrast.share) if contrast.share else self.metric

    @property
    def contrasts(self) -> list[Contrast]:
        return [self.primary, *self.secondary]


def read_experiment(value: object) -> Experiment:
    """Cells and scores of seeds above the look are left out: an analysis reads the seeds of its look."""
    if isinstance(value, dict) and value.get("version", ANALYSIS_VERSION) != ANALYSIS_VERSION:
        refuse("version", value["version"], f"{ANALYSIS_VERSION}; update the Python packages: npm run setup")
    root = checked(value, "analysis")
    arms = [item["name"] for item in root["arms"]]
    for index, arm in enumerate(root["ordering"] or []):
        _require_arm(f"ordering[{index}]", arm, arms)
    cells = _read_cells(root["cells"], arms, root["look"])
    return Experiment(
        arms=arms,
        replicas={item["name"]: item["replicaOf"] for item in root["arms"] if item["replicaOf"]},
        look=root["look"],
        looks=read_looks(root["looks"]),
        looks_taken=root["looksTaken"],
        equal=root["match"]["equal"],
        within=root["match"]["within"],
        metric=_read_metric(root["metric"]),
        alpha=root["alpha"],
        primary=_read_contrast("primary", root["primary"], arms),
        secondary=[
            _read_contrast(f"secondary[{index}]", item, arms) for index, item in enumerate(root["secondary"])
        ],
        ordering=root["ordering"],
        margin=root["margin"],
        breakdown=root["breakdown"],
        companion=root.get("companion"),
        cells=cells,
        scores=_read_scores(root["scores"], cells, root["look"]),
    )


def read_looks(looks: list[int]) -> list[int]:
    if len(looks) not in (1, 2) or looks != sorted(set(looks)):
        refuse("looks", looks, "one or two numbers of seeds, ascending")
    return looks


def _read_metric(text: str) -> Metric:
    """`success`, `reward`, both with `@<feature>=<value>`, `pass@<k>`, or `aulc(<measure>)`."""
    if found := re.fullmatch(r"(success|reward)(?:@([^=]+)=(.+))?", text):
        score, feature, value = found.groups()
        return Metric(score, (feature, value) if feature else None)
    if (found := re.fullmatch(r"aulc\((\w+)\)", text)) and found[1] in MEASURES:
        return Metric("success", effort=found[1])
    if found := re.fullmatch(r"pass@([1-9]\d*)", text):
        return Metric("success", passed=int(found[1]))
    return refuse(
        "metric",
        text,
        f"success, reward, success@<feature>=<value>, pass@<k> or aulc(<{'|'.join(MEASURES)}>)",
    )


def _require_arm(path: str, arm: str, arms: list[str]) -> None:
    if arm not in arms:
        refuse(path, arm, f"one of {', '.join(arms)}")


def _read_contrast(path: str, item: Json, arms: list[str]) -> Contrast:
    for end in ("plus", "minus"):
        _require_arm(f"{path}.{end}", item[end], arms)
    if item["plus"] == item["minus"]:
        refuse(f"{path}.minus", item["minus"], f"another arm than plus, {item['plus']}")
    return Contrast(item["name"], item["plus"], item["minus"], item.get("metric"))


def _read_cells(items: list[Json], arms: list[str], look: int) -> dict[CellKey, Cell]:
    cells: dict[CellKey, Cell] = {}
    for index, item in enumerate(items):
        path, key = f"cells[{index}]", (item["arm"], item["seed"])
        _require_arm(f"{path}.arm", item["arm"], arms)
        if key in cells:
            refuse(path, item, f"one cell for arm {key[0]} and seed {key[1]}")
        if key[1] <= look:
            cells[key] = _read_cell(path, item)
    return cells


def _read_cell(path: str, item: Json) -> Cell:
    effort = _read_effort(f"{path}.checkpoints", item["checkpoints"])
    if item["status"] == "finished" and not effort:
        refuse(f"{path}.checkpoints", [], "at least one checkpoint of a finished cell")
    return Cell(
        finished=item["status"] == "finished",
        reason=item["reason"],
        test_hash=item["testHash"],
        leaked_tasks=item["leakedTasks"],
        copy_of=item["copyOf"],
        shares=item.get("shares", {}),
        effort=effort,
    )


def _read_effort(path: str, items: list[Json]) -> dict[int, dict[str, float]]:
    effort: dict[int, dict[str, float]] = {}
    before: dict[str, float] = {}
    for index, item in sorted(enumerate(items), key=lambda entry: int(entry[1]["checkpoint"])):
        number, amounts = item["checkpoint"], item["effort"]
        for name, amount in amounts.items():
            if amount < before.get(name, 0):
                least = f"at least {before[name]:g}: amounts are cumulative"
                refuse(f"{path}[{index}].effort.{name}", amount, least)
        if number in effort:
            refuse(f"{path}[{index}].checkpoint", number, "every number once")
        effort[number] = before = amounts
    return effort


def _read_scores(
    items: list[Json], cells: dict[CellKey, Cell], look: int
) -> dict[CellKey, dict[int, dict[str, Score]]]:
    scores: dict[CellKey, dict[int, dict[str, Score]]] = {}
    for index, item in enumerate(items):
        key = (item["arm"], item["seed"])
        if key[1] > look:
            continue
        if key not in cells:
            raise InputProblem(f"scores[{index}]: found {key[0]}-s{key[1]}, expected a cell of the input")
        tasks = scores.setdefault(key, {}).setdefault(item["checkpoint"], {})
        if item["task"] in tasks:
            once = f"each task once for {key[0]}, seed {key[1]}, checkpoint {item['checkpoint']}"
            refuse(f"scores[{index}].task", item["task"], once)
        features = {name: _feature(value) for name, value in item["features"].items()}
        tasks[item["task"]] = Score(features, item["reward"], item["success"], item.get("attempts", 1))
    return scores


def _feature(value: str | float) -> str:
    """Numbers are written as JavaScript writes them: 2, not 2.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
