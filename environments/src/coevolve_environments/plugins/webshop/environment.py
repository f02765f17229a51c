"""webshop: buy the product of an instruction (Yao et al. 2022, arXiv:2207.01206), on the operator's server.

The shop's products cannot be distributed, so this is an adapter to the text server of AgentGym
(github.com/WooooDyy/AgentGym, agentenv-webshop). WebShop draws the price limits of its human goals in every
session; a task keeps one instruction, and sessions with another are not played.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.remote.client import RELEASE_SECONDS, RemoteClient, read_address
from coevolve_environments.plugins.remote.episode import Releaser
from coevolve_environments.plugins.validation import integer_in_range, refuse_unknown, require_fields
from coevolve_environments.plugins.webshop.episode import WebShopEpisode
from coevolve_environments.plugins.webshop.instructions import Instructions
from coevolve_environments.plugins.webshop.shop import Shop
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

ETO_STEPS = 10
_OPTIONS = {"goals", "max_turns"}
_FIELDS = {"task_id": str, "split": str, "goal": int, "max_turns": int}
_PRICE_DRAWS = 4
"""WebShop draws the limit from three values, with 1/2, 1/3 and 1/6."""
PUBLISHED_TEST = 500
PUBLISHED_TRAIN = 1_500
SMALL_SHOP_GOALS = 6_910
"""Goals of the 1,000 products that AgentGym's server loads; the full shop with human goals has 12,087."""
_MAX_GOALS = 100_000


def create(settings: Settings) -> Environment:
    """Reads `url`, `headers_file`, `timeout_seconds` (60), `sessions` (8), `episodes_per_child` (1),
    `max_turns` (10), `price_draws` (4) and the settings of `read_goals`.
    """
    return WebShop(settings)


class WebShop(Environment):
    control = "search[look]"
    description = "Buy the product that an instruction asks for (WebShop, on the operator's own server)."

    def __init__(self, settings: Settings) -> None:
        self.name = settings.name
        address = read_address(settings, "http://127.0.0.1:36006, AgentGym's agentenv-webshop")
        self.max_sessions = settings.integer("sessions", 8)
        price_draws = settings.integer("price_draws", _PRICE_DRAWS)
        # A failed reset; a creation and a reset per draw; a close after each failed reset.
        self.call_seconds = (1 + 2 * price_draws) * address.timeout_seconds + 2 * RELEASE_SECONDS
        self.capabilities = Capabilities(
            variants=False,
            replay="none",
            dense_reward=True,
            max_turns=settings.integer("max_turns", ETO_STEPS),
            min_actions=2,
            gold=False,
        )
        self._remote = RemoteClient(address)
        recycle_after = settings.integer("episodes_per_child", 1)
        self._shop = Shop(
            self._remote, Releaser(self.name), episodes_per_child=recycle_after, price_draws=price_draws
        )
        self._instructions = Instructions(self._shop, settings.state, address.url)
        goals = read_goals(settings)
        self._records: Mapping[Split, list[TaskRecord]] = {
            split: [self._record(split, goal) for goal in listed] for split, listed in goals.items()
        }

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self._records[split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """Options: `goals`, ranges of the split's goals such as `0-199`; `max_turns`, at most the setting."""
        limit, chosen = self._read_options(options)
        fit = [r for r in self._records[split] if chosen is None or r.definition["goal"] in chosen]
        drawn = sample(fit, count, seed, split)
        instructions = self._instructions.read([r.definition["goal"] for r in drawn])
        return [
            replace(r, goal=text, definition={**r.definition, "max_turns": limit, "instruction": text})
            for r, text in zip(drawn, instructions, strict=True)
        ]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: the shop takes none."""
        require_fields(definition, _FIELDS)
        self._turn_limit(definition["max_turns"])
        if "instruction" in definition:
            require_fields(definition, {"instruction": str})
        return WebShopEpisode(self._shop, self._instructions, definition)

    def close(self) -> None:
        self._shop.close()
        self._remote.close()

    def _record(self, split: Split, goal: int) -> TaskRecord:
        task_id = f"{self.name}/{goal}"
        limit = self.capabilities.max_turns
        return TaskRecord(
            task_id=task_id,
            split=split,
            # The server sends the instruction only in an episode.
            goal=f"Buy what goal {goal} of the shop asks for.",
            definition={"task_id": task_id, "split": split, "goal": goal, "max_turns": limit},
            features={"pattern": "shopping", "group": self.name, "goal": goal},
            content_key=hashlib.sha256(f"webshop/{goal}".encode()).hexdigest(),
            reference_actions=[],
        )

    def _read_options(self, options: Mapping[str, Any]) -> tuple[int, set[int] | None]:
        refuse_unknown(options, _OPTIONS)
        limit = self._turn_limit(options.get("max_turns", self.capabilities.max_turns))
        ranges = options.get("goals")
        if ranges is None:
            return limit, None
        try:
            return limit, set(goals_in(str(ranges)))
        except ValueError:
            raise BadRequest(f"`options.goals` must be ranges such as '0-199,300', got {ranges!r}") from None

    def _turn_limit(self, value: object) -> int:
        return integer_in_range(value, "max_turns", self.capabilities.max_turns)


def read_goals(settings: Settings) -> Mapping[Split, list[int]]:
    """Reads `goals` (6910), and for each split ranges (`train`, `held_out`) or a JSON list (`..._file`).

    WebShop's baselines use goals 0 to 499 for test, 500 to 1,499 for development and the rest for training.
    ETO (arXiv:2403.02502) trains on 1,824 goals and tests on 200, both listed in files.

    Raises:
        ValueError: a split is empty or contains an unknown goal, or the splits overlap.
    """
    count = settings.integer("goals", SMALL_SHOP_GOALS)
    splits: dict[Split, list[int]] = {
        "train": _goals_of(settings, "train", f"{PUBLISHED_TRAIN}-{count - 1}", count),
        "held-out": _goals_of(settings, "held_out", f"0-{PUBLISHED_TEST - 1}", count),
    }
    if both := sorted(set(splits["train"]) & set(splits["held-out"])):
        raise settings.invalid("train", "goals that are not held out", both[0])
    return splits


def goals_in(text: str) -> list[int]:
    """Parses `0-499,700` as distinct goals in ascending order.

    Raises:
        ValueError: not ranges, or a range that ends before its start.
    """
    goals: set[int] = set()
    for part in text.split(","):
        first, _, last = (piece.strip() for piece in part.partition("-"))
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < _MAX_GOALS:
            raise ValueError(f"invalid range of goals: {part!r}")
        goals.update(range(low, high + 1))
    return sorted(goals)


def _goals_of(settings: Settings, key: str, default: str, count: int) -> list[int]:
    file, text = settings.path(f"{key}_file"), settings.text(key)
    if file is not None and text is not None:
        raise settings.invalid(key, f"only one of {key} and {key}_file", text)
    try:
        goals = _read_list(file) if file is not None else goals_in(text or default)
    except (OSError, ValueError):
        expected = "a JSON list of goal numbers" if file is not None else "ranges such as 0-499,700"
        raise settings.invalid(
            f"{key}_file" if file else key, expected, text or str(file or default)
        ) from None
    if not goals or goals[-1] >= count:
        raise settings.invalid(key, f"goals in 0..{count - 1} (hosted.{settings.name}.goals)", goals[-1:])
    return goals


def _read_list(file: Path) -> list[int]:
    goals = json.loads(file.read_text(encoding="utf8"))
    if not isinstance(goals, list) or not all(type(goal) is int and goal >= 0 for goal in goals):
        raise ValueError("not a list of goals")
    return sorted(set(goals))
