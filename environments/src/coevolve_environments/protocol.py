"""What an environment is: the contract between a plug-in and the server.

A plug-in is one module with a class that is an `Environment`, and a function `create(settings)` that makes
one of what the operator says of it. The server opens one `Episode` per reset, feeds it the policy's text, and
never looks inside. A lost game is an answer with a low reward; an exception
other than `BadRequest` is a fault of the environment and is never turned into a reward.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

Json = dict[str, Any]
Split = Literal["train", "held-out"]
Relation = Literal["neighbour", "rarer", "easier", "harder", "random"]

Replay = Literal["observations", "score", "none"]
Grader = Literal["environment", "judge"]
RefusalReason = Literal["not-executable", "empty-result", "bad-format"]

SPLITS: tuple[Split, ...] = ("train", "held-out")
RELATIONS: tuple[Relation, ...] = ("neighbour", "rarer", "easier", "harder", "random")


class BadRequest(Exception):
    """The caller asked for something that cannot be: a retry of the same request will fail again."""


class NotSupported(Exception):
    """The environment does not declare the capability that the request needs."""


class CapacityReached(Exception):
    """Every session of the environment is taken, or the server takes no more."""


class NotReady(TimeoutError):
    """What was asked for takes longer than one request may. What is ready is kept: ask again for the rest."""


class Unavailable(Exception):
    """The environment cannot be had here: the message names what is missing and how to install it."""


@dataclass(frozen=True)
class Capabilities:
    """What an environment promises, so that a recipe needing more can be refused before anything is spent."""

    variants: bool
    """Can draw new tasks related to given ones."""
    compose: bool
    """Can turn a request and the actions that fulfil it into a task."""
    replay: Replay
    """What the same actions from a fresh episode give again, in any process: every observation and the
    reward, only the score after each action (`Observation.score`), or nothing that could be relied on."""
    dense_reward: bool
    """Rewards strictly between 0 and 1 occur."""
    max_steps: int
    """No episode takes more actions than this."""
    gold: bool = True
    """Tasks have reference actions."""


@dataclass(frozen=True)
class TaskRecord:
    """A task as the service stores it. `definition` alone is enough to open and score it."""

    task_id: str
    split: Split
    goal: str
    definition: Json
    features: Json
    content_key: str
    """sha256 hex of what makes the task this task: equal keys are the same task however it is worded."""
    reference_actions: list[str]
    """Assistant texts that score 1 when played in order."""


@dataclass(frozen=True)
class Variant:
    """A generated task and the index of the parent that it was drawn for; None when it was drawn for none."""

    record: TaskRecord
    parent: int | None


@dataclass(frozen=True)
class ComposedTask:
    """A task made of a request and actions that somebody wrote."""

    record: TaskRecord
    grader: Grader
    """Who can tell whether an attempt fulfils it: `judge` where the actions leave nothing to compare with."""


@dataclass(frozen=True)
class Refusal:
    """Why a request and its actions make no task. An answer, not an error: whoever wrote them may err."""

    reason: RefusalReason
    detail: str


@dataclass(frozen=True)
class Observation:
    """What an episode says after the reset or an action. `messages` holds the new ones only."""

    messages: list[dict[str, str]]
    turn: int
    tools: list[Json] | None = None
    done: bool = False
    reward: float = 0.0
    """In [0, 1]; 0 until done."""
    score: float | None = None
    """The score so far in [0, 1], where the environment has one before the end."""
    metadata: Json = field(default_factory=dict)


class Episode(Protocol):
    """One attempt at one task: opened once, then acted on by one caller at a time.

    `close` may come while `act` still runs in another thread, when its deadline passed or the server stops.
    """

    task_id: str
    split: str

    def open(self) -> Observation: ...

    def act(self, content: str) -> Observation: ...

    def close(self) -> None: ...


class Environment(ABC):
    """A plug-in. Everything it returns is a function of its arguments: no clock, no global random source.

    Only tasks, `start` and the three attributes without a value have to be given; the rest has a default, for
    an environment that is played in a thread of the server and neither draws variants nor composes tasks.
    """

    name: str
    description: str
    capabilities: Capabilities
    inline: ClassVar[bool] = False
    """Acts in well under a millisecond, or must not run in two threads: the server then calls it on the event
    loop. Otherwise every call runs in a thread under the server's deadline."""
    call_seconds: float = 20.0
    """Deadline of one call of an episode; past it the episode is a fault of the environment."""
    episode_seconds: float = 900.0
    """Deadline of one episode, from its reset."""
    max_sessions: int | None = None
    """How many episodes it can play at once, where that is fewer than the server's capacity."""
    license: str | None = None
    """Terms of the data that its tasks come from, where they are not the package's own."""

    @abstractmethod
    def published(self, split: Split) -> Sequence[TaskRecord]:
        """The tasks that the benchmark itself ships, in its own order."""

    @abstractmethod
    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """At most `count` distinct tasks. No key of one split ever appears in the other."""

    @abstractmethod
    def start(self, definition: Json, seed: int) -> Episode:
        """A fresh episode; raises `BadRequest` when the definition cannot be played."""

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        """At most `count` tasks in total, none of them a parent. Raises `NotSupported` by default."""
        raise NotSupported(f"{self.name} declares no generator of task variants")

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> ComposedTask | Refusal:
        """A train task that asks `query` where `parent` plays, checked by what `actions` come to there in a
        fresh start. Raises `BadRequest` for a parent that cannot be played, `NotSupported` by default.
        """
        raise NotSupported(f"{self.name} composes no tasks")

    def close(self) -> None:
        """Ends what the environment keeps between episodes, such as its pool of processes."""
        return None
