"""The contract between a plugin and the server.

A plugin is one module with a subclass of `Environment` and a function `create(settings)` that makes it from
the operator's settings. The server opens one `Episode` per reset and passes the policy's text to it. A lost
game is an observation with a low reward; an exception other than `BadRequest` is a fault of the environment
and never becomes a reward, except what a text does to its own world (`server/failed_action.py`).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, get_args

Json = dict[str, Any]
Split = Literal["train", "held-out"]
Relation = Literal["neighbour", "easier", "harder", "random"]

Replay = Literal["observations", "score", "none"]
Grader = Literal["environment", "judge"]
Compose = Literal["checker", "judge", "none"]
StopReason = Literal["completed", "turn-limit", "world-ended"]
RefusalReason = Literal[
    "not-executable", "empty-result", "ambiguous-result", "bad-format", "no-effect", "no-goal", "no-answer"
]

SPLITS: tuple[Split, ...] = get_args(Split)
RELATIONS: tuple[Relation, ...] = get_args(Relation)


class BadRequest(Exception):
    """The request is invalid: a retry of the same request fails again."""


class NotSupported(Exception):
    """The environment lacks the capability that the request needs."""


class CapacityReached(Exception):
    """All sessions of the environment are in use, or the server accepts no more."""


class NotReady(Exception):
    """The work exceeds the time of one request. Finished parts are kept: the same request continues it."""

    def __init__(self, ready: int, count: int, parts: str) -> None:
        """
        Args:
            parts: name of the parts, in the plural.
        """
        super().__init__(f"{ready} of {count} {parts} are ready; the same request continues")
        self.ready = ready
        self.count = count


class Unavailable(Exception):
    """The environment cannot run here: the message names the missing part and how to install it."""


@dataclass(frozen=True)
class Capabilities:
    """Properties of an environment. A recipe that needs more is rejected before it spends money."""

    variants: bool
    """Draws new tasks related to given ones."""
    replay: Replay
    """Results that the same actions repeat in a new episode of any process: every observation and the reward,
    only the score after each action (`Observation.score`), or nothing reliable."""
    dense_reward: bool
    """Rewards between 0 and 1, exclusive, occur."""
    max_turns: int
    """Maximum number of actions of an episode."""
    min_actions: int = 1
    """Actions of the shortest task worth writing: 1 where one action can be a whole task, such as a query."""
    compose: Compose = "judge"
    """Grader of tasks made from a request and the actions that fulfil it: always the `judge`, or a `checker`
    where they leave a state or an output to compare with. `none`: no such tasks."""
    states: bool = False
    """Episodes are `HasFacts` or `HasState` and check composed tasks. Requires `compose` to be `checker`."""
    gold: bool = True
    """Tasks have reference actions."""
    constant_answers: tuple[tuple[str, ...], ...] = ()
    """Action lists that need no knowledge of the task. `env check` plays them and reports the best one."""


@dataclass(frozen=True)
class SpecDefaults:
    """Values for a spec without them. Measured lengths raise the last two numbers; None: the usual one."""

    train_tasks: int | None = None
    """Tasks that suit a first campaign, for an environment whose draws or episodes are slow."""
    held_out_tasks: int | None = None
    max_positions: int | None = None
    """Tokens of its longest usual episodes for the embedded policy, if playing them takes many seconds."""
    max_tokens: int | None = None
    """Tokens of its longest usual action, likewise."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other keys by their path, such as `training.sft.epochs`, for a policy from scratch. `admission.compare`
    is `contents` where one goal is played in many worlds, and holds for any policy."""


@dataclass(frozen=True)
class Composing:
    """How the facts of an environment are read when the server composes a task (`server/facts.py`)."""

    looks: tuple[str, ...] = ()
    """Actions that only look; inserted between others, they must not change the checked facts."""
    wait: str | None = None
    """Action that only lets time pass."""
    informs: re.Pattern[str] | None = None
    """Actions that need not change a fact, such as looks; another action without an effect is refused."""
    fails: re.Pattern[str] | None = None
    """Observations of actions that failed."""
    words: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Words by which a request names a relation, such as `open`, or a value of it, such as `open no`, and the
    agent as a holder of things."""
    exact: bool = False
    """Every change that the reference does not make is a mistake."""


@dataclass(frozen=True)
class TaskRecord:
    """A task as the service stores it. `definition` alone is enough to play and score it."""

    task_id: str
    split: Split
    goal: str
    definition: Json
    features: Json
    content_key: str
    """sha256 hex of the task's content: equal keys mean the same task, however it is worded."""
    reference_actions: list[str]
    """Assistant texts that score 1 when played in order."""


@dataclass(frozen=True)
class Variant:
    """A generated task and the index of the parent that it was drawn for, if any."""

    record: TaskRecord
    parent: int | None


@dataclass(frozen=True)
class ComposedTask:
    """A task made from a given request and given actions."""

    record: TaskRecord
    grader: Grader
    """Checker of attempts: `judge` if the actions leave no state or output to compare with."""


@dataclass(frozen=True)
class Refusal:
    """Why a request and its actions make no task. It is a result, not an error: their author may err."""

    reason: RefusalReason
    detail: str


@dataclass(frozen=True)
class Observation:
    """Result of a reset or an action. `messages` holds only the new messages."""

    messages: list[dict[str, str]]
    turn: int
    tools: list[Json] | None = None
    done: bool = False
    reward: float = 0.0
    """In [0, 1]; 0 before the end."""
    score: float | None = None
    """Score so far in [0, 1], if the environment has one before the end."""
    metadata: Json = field(default_factory=dict)
    instruction: str | None = None
    """The part of the first messages that states the task. A composed task replaces it wherever it occurs."""

    @classmethod
    def final(
        cls,
        messages: list[dict[str, str]],
        turn: int,
        *,
        reward: float,
        raw_score: float,
        success: bool,
        stop_reason: StopReason,
        error_type: str | None = None,
        score: float | None = None,
        **details: Any,
    ) -> "Observation":
        """Returns the last observation of an episode with the metadata that every environment reports.

        Args:
            raw_score: score before scaling to [0, 1].
            error_type: short name of the policy's last error.
            details: metadata of one environment.
        """
        metadata: Json = {
            "raw_score": raw_score,
            "success": success,
            "stop_reason": stop_reason,
            "error_type": error_type,
            **details,
        }
        return cls(messages, turn, done=True, reward=reward, score=score, metadata=metadata)


class Episode(Protocol):
    """One attempt at one task: opened once, then called by one caller at a time.

    `close` may be called while `act` still runs in another thread, after a timeout or when the server stops.
    """

    task_id: str
    split: str

    def open(self) -> Observation: ...

    def act(self, content: str) -> Observation: ...

    def close(self) -> None: ...


class Environment(ABC):
    """A plugin. All results are functions of the arguments: no clock, no global random source.

    Required are `published`, `tasks`, `start` and the three attributes without a value. The defaults fit an
    environment that runs in threads of the server, draws no variants and does not compose tasks itself.
    """

    name: str
    description: str
    capabilities: Capabilities
    inline: ClassVar[bool] = False
    """Runs calls on the server's event loop, for environments that need well under a millisecond or must not
    run in two threads. Other calls run in a thread with the server's timeout."""
    call_seconds: float = 20.0
    """Timeout of one call of an episode. A timeout is a fault of the environment."""
    episode_seconds: float = 900.0
    """Timeout of one episode, from its reset."""
    max_sessions: int | None = None
    """Maximum number of episodes at the same time, if lower than the server's capacity."""
    control: ClassVar[str] = "look"
    """Text that no policy wrote, with an observation in any state, helpful or not. After an action without an
    observation the server plays an episode of it alone, to see whether the fault befalls other texts too."""
    runs_code: ClassVar[bool] = False
    """Actions are code, which may end its own process at random: a failed action is not tried again."""
    finish: ClassVar[str | None] = None
    """Action that ends any task. If it is None, the server reads `finish[<answer>]` in composed tasks."""
    spec_defaults: ClassVar[SpecDefaults] = SpecDefaults()
    """Defaults of a spec on this environment."""
    composing: ClassVar[Composing] = Composing()
    license: str | None = None
    """License of the tasks' data, if it is not the package's own."""

    @abstractmethod
    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Returns the tasks that the benchmark ships, in its own order."""

    @abstractmethod
    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """Draws at most `count` distinct tasks. No content key appears in both splits."""

    @abstractmethod
    def start(self, definition: Json, seed: int) -> Episode:
        """Makes a new episode. Raises `BadRequest` if the definition cannot be played.

        A composed task's definition is its parent's with a `query`, which the episode may state, and
        `checks_facts`, with which no end of the parent's own task may end the episode.
        """

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        """Draws at most `count` tasks in total and no parent. Raises `NotSupported` by default."""
        raise NotSupported(f"{self.name} has no generator of task variants")

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> ComposedTask | Refusal:
        """Makes a train task with the request `query` in the start state of `parent`.

        Attempts are compared with the outcome of `actions` in a new episode. Raises `BadRequest` if the
        parent cannot be played. By default, the server plays the parent's world with the new request.
        """
        raise NotSupported(f"{self.name} has no composer of its own")

    def close(self) -> None:
        """Frees resources kept between episodes, such as a pool of processes."""
        return None
