"""The input of an analysis: `AnalysisInput` of src/domain/experiment/analysis.ts as classes."""

import re
from dataclasses import dataclass

from . import ANALYSIS_VERSION
from .reader import InputProblem, Reader

MEASURES = (
    "environmentAttempts",
    "updates",
    "targetPairs",
    "trainedTokens",
    "rolloutTokens",
    "modelTokens",
    "usd",
    "gpuSeconds",
    "wallSeconds",
)
#: An arm and a seed.
CellKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Score:
    features: dict[str, str]
    reward: float
    success: float


@dataclass(frozen=True, slots=True)
class Cell:
    finished: bool
    reason: str | None
    exploratory: bool
    test_hash: str | None
    leaked_tasks: int
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


@dataclass(frozen=True, slots=True)
class Contrast:
    name: str
    plus: str
    minus: str


@dataclass(frozen=True, slots=True)
class Experiment:
    arms: list[str]
    look: int
    looks: list[int]
    equal: list[str]
    within: dict[str, float]
    metric: Metric
    alpha: float
    primary: Contrast
    secondary: list[Contrast]
    ordering: list[str] | None
    margin: float
    breakdown: list[str]
    cells: dict[CellKey, Cell]
    #: Scores of the tasks, by cell, checkpoint and task.
    scores: dict[CellKey, dict[int, dict[str, Score]]]

    @property
    def seeds(self) -> range:
        return range(1, self.look + 1)

    @property
    def contrasts(self) -> list[Contrast]:
        return [self.primary, *self.secondary]


def read_experiment(value: object) -> Experiment:
    """Cells and scores of seeds above the look are left out: an analysis reads the seeds of its look."""
    root = Reader(value)
    if root.field("version").integer() != ANALYSIS_VERSION:
        root.field("version").refuse(f"{ANALYSIS_VERSION}; update the Python packages: npm run setup")
    arms = [item.field("name").text() for item in root.field("arms").items()]
    look = root.field("look").integer(1)
    cells = _read_cells(root.field("cells"), arms, look)
    within = root.field("match").field("within").fields()
    return Experiment(
        arms=arms,
        look=look,
        looks=_read_looks(root.field("looks")),
        equal=[item.choice(*MEASURES) for item in root.field("match").field("equal").items()],
        within={Reader(name, item.path).choice(*MEASURES): item.number() for name, item in within},
        metric=_read_metric(root.field("metric")),
        alpha=root.field("alpha").share(),
        primary=_read_contrast(root.field("primary"), arms),
        secondary=[_read_contrast(item, arms) for item in root.field("secondary").items()],
        ordering=root.field("ordering").optional(lambda list_: [i.choice(*arms) for i in list_.items()]),
        margin=root.field("margin").share(),
        breakdown=[item.text() for item in root.field("breakdown").items()],
        cells=cells,
        scores=_read_scores(root.field("scores"), cells, look),
    )


def _read_looks(field: Reader) -> list[int]:
    looks = [item.integer(1) for item in field.items()]
    if len(looks) not in (1, 2) or looks != sorted(set(looks)):
        field.refuse("one or two numbers of seeds, ascending")
    return looks


def _read_metric(field: Reader) -> Metric:
    """`success`, `reward`, both with `@<feature>=<value>`, or `aulc(<measure>)`."""
    text = field.text()
    if found := re.fullmatch(r"(success|reward)(?:@([^=]+)=(.+))?", text):
        score, feature, value = found.groups()
        return Metric(score, (feature, value) if feature else None)
    if (found := re.fullmatch(r"aulc\((\w+)\)", text)) and found[1] in MEASURES:
        return Metric("success", effort=found[1])
    return field.refuse(f"success, reward, success@<feature>=<value> or aulc(<{'|'.join(MEASURES)}>)")


def _read_contrast(field: Reader, arms: list[str]) -> Contrast:
    plus, minus = field.field("plus").choice(*arms), field.field("minus").choice(*arms)
    if plus == minus:
        field.field("minus").refuse(f"another arm than plus, {plus}")
    return Contrast(field.field("name").text(), plus, minus)


def _read_cells(field: Reader, arms: list[str], look: int) -> dict[CellKey, Cell]:
    cells: dict[CellKey, Cell] = {}
    for item in field.items():
        key = (item.field("arm").choice(*arms), item.field("seed").integer(1))
        if key in cells:
            item.refuse(f"one cell for arm {key[0]} and seed {key[1]}")
        if key[1] <= look:
            cells[key] = _read_cell(item)
    return cells


def _read_cell(item: Reader) -> Cell:
    finished = item.field("status").choice("finished", "missing") == "finished"
    effort = _read_effort(item.field("checkpoints"))
    if finished and not effort:
        item.field("checkpoints").refuse("at least one checkpoint of a finished cell")
    return Cell(
        finished=finished,
        reason=item.field("reason").optional(Reader.text),
        exploratory=item.field("exploratory").boolean(),
        test_hash=item.field("testHash").optional(Reader.text),
        leaked_tasks=item.field("leakedTasks").integer(),
        effort=effort,
    )


def _read_effort(field: Reader) -> dict[int, dict[str, float]]:
    effort: dict[int, dict[str, float]] = {}
    before: dict[str, float] = {}
    for item in sorted(field.items(), key=lambda entry: entry.field("checkpoint").integer()):
        amounts = {name: amount.number() for name, amount in item.field("effort").fields()}
        for name, amount in amounts.items():
            if amount < before.get(name, 0):
                item.field("effort").field(name).refuse(f"at least {before[name]:g}: amounts are cumulative")
        number = item.field("checkpoint").integer()
        if number in effort:
            item.field("checkpoint").refuse("every number once")
        effort[number] = before = amounts
    return effort


def _read_scores(
    field: Reader, cells: dict[CellKey, Cell], look: int
) -> dict[CellKey, dict[int, dict[str, Score]]]:
    scores: dict[CellKey, dict[int, dict[str, Score]]] = {}
    for item in field.items():
        key = (item.field("arm").text(), item.field("seed").integer(1))
        if key[1] > look:
            continue
        if key not in cells:
            raise InputProblem(f"{item.path}: found {key[0]}-s{key[1]}, expected a cell of the input")
        checkpoint, task = item.field("checkpoint").integer(), item.field("task").text()
        tasks = scores.setdefault(key, {}).setdefault(checkpoint, {})
        if task in tasks:
            item.field("task").refuse(f"each task once for {key[0]}, seed {key[1]}, checkpoint {checkpoint}")
        tasks[task] = Score(
            features={name: _feature(value) for name, value in item.field("features").fields()},
            reward=item.field("reward").number(0, 1),
            success=item.field("success").number(0, 1),
        )
    return scores


def _feature(field: Reader) -> str:
    """Numbers are written as JavaScript writes them: 2, not 2.0."""
    value = field.value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        field.refuse("a text or a number")
    return str(value)
