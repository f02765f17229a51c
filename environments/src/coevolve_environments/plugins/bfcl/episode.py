"""One attempt at one entry: the user's turns in order, each checked against the gold calls."""

from dataclasses import replace

from coevolve_environments.plugins.bfcl.calls import Call, parse_calls, published_calls
from coevolve_environments.plugins.bfcl.entries import (
    Entry,
    argument_schemas,
    published_addition,
    published_opening,
    tools_of,
)
from coevolve_environments.plugins.bfcl.literals import NotCalls
from coevolve_environments.plugins.bfcl.world import GoldTurn, World, changes_between, gold_of
from coevolve_environments.protocol import Observation, StopReason
from coevolve_environments.world_state import changes_text

MAX_STEPS_PER_TURN = 20  # as published: the 21st step ends the attempt
END_OF_TURN = "Done."
_INSTRUCTION = (
    "Fulfil each request by calling functions. Answer with a list of calls such as "
    "[first(a=1), second(b='x')] and read their results; any other answer ends your turn. "
    "Call nothing when no function fits."
)
_MORE_FUNCTIONS = "More functions are available now. Can you do it with them?"


class BfclEpisode:
    """Reward 1 if every turn with gold calls passes: it has calls, the objects' state equals the gold state,
    and every gold response occurred. That is the published metric, `raw_score` in the metadata.

    A call in a turn without gold calls fails only by its effect on a later turn. With `irrelevance` it fails
    the attempt, by a checker of the package that its own evaluation does not call. With `dense` the reward is
    `dense_score`, which is ours: turns passed before the first failure / turns.
    """

    def __init__(
        self,
        entry: Entry,
        *,
        task_id: str,
        split: str,
        max_steps_per_turn: int,
        dense: bool = False,
        irrelevance: bool = False,
        published_prompts: bool = False,
        strict: bool = False,
        composed: bool = False,
    ) -> None:
        self.task_id = task_id
        self.split = split
        self._entry = entry
        self._limit = max_steps_per_turn
        self._dense = dense
        self._irrelevance = irrelevance
        self._published_prompts = published_prompts
        self._strict = strict
        self._composed = composed
        self._world = World(entry)
        self._schemas = argument_schemas(entry)
        self._responses: list[str] = []
        self._turn = 0
        self._steps = 0
        self._passed = 0
        self._failure: str | None = None

    def open(self) -> Observation:
        if self._published_prompts:
            return Observation(published_opening(self._entry), self._turn)
        messages = [{"role": "system", "content": _INSTRUCTION}, *self._request()]
        return Observation(messages, self._turn, tools=tools_of(self._entry, 0))

    def act(self, content: str) -> Observation:
        try:
            calls = published_calls(content) if self._strict else parse_calls(content, self._schemas)
            if self._published_prompts:  # whose evaluation drops arguments without a name
                calls = [replace(call, positional=()) for call in calls]
        except NotCalls:
            calls = []
        return self._execute(calls) if calls else self._end_turn()

    def close(self) -> None:
        """Nothing to free."""

    def _execute(self, calls: list[Call]) -> Observation:
        results = [self._world.call(call) for call in calls]
        self._responses += results
        self._steps += 1
        messages = [{"role": "tool", "content": result} for result in results]
        if self._steps > self._limit:
            self._failure = self._failure or "force-terminated"
            return self._finish(messages, "turn-limit")
        return Observation(messages, self._turn)

    def _end_turn(self) -> Observation:
        self._failure = self._failure or self._check_turn()
        if self._failure is None:
            self._passed += 1
        self._turn += 1
        self._steps = 0
        if self._turn == len(self._entry.turns):
            return self._finish([], "completed")
        if self._turn not in self._entry.held_back or self._published_prompts:
            return Observation(self._request(), self._turn)
        return Observation(self._request(), self._turn, tools=tools_of(self._entry, self._turn))

    def _request(self) -> list[dict[str, str]]:
        if self._turn not in self._entry.held_back:
            return list(self._entry.turns[self._turn])
        if self._published_prompts:
            return [published_addition(self._entry, self._turn)]
        return [{"role": "user", "content": _MORE_FUNCTIONS}]

    def _check_turn(self) -> str | None:
        """Returns the package's name of the turn's failure, if any."""
        if not self._entry.answers[self._turn]:
            return _irrelevant(self._steps) if self._irrelevance else None
        if not self._steps:
            return "empty_turn_model_response"
        return _first_mismatch(
            self._world, gold_of(self._entry).after(self._turn), self._responses, self._turn
        )

    def _finish(self, messages: list[dict[str, str]], stop_reason: StopReason) -> Observation:
        turns = len(self._entry.turns)
        success = self._passed == turns
        if self._composed:
            changed = changes_text(changes_between(World(self._entry), self._world))
            messages = [*messages, {"role": "user", "content": changed}]
        return Observation.final(
            messages,
            self._turn,
            reward=self._passed / turns if self._dense else float(success),
            raw_score=float(success),
            success=success,
            stop_reason=stop_reason,
            error_type=self._failure,
            dense_score=self._passed / turns,
            turns_passed=self._passed,
            turns=turns,
        )


def _irrelevant(steps: int) -> str | None:
    """Checks a turn without gold calls that had this many steps with calls."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_irrelevance_checker

    verdict = multi_turn_irrelevance_checker([[["call"]] * steps], [[]])
    return None if verdict["valid"] else str(verdict["error_type"]).removeprefix("multi_turn:")


def _first_mismatch(world: World, gold: GoldTurn, responses: list[str], turn: int) -> str | None:
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import response_checker

    if differ(world, gold):
        return "instance_state_mismatch"
    verdict = response_checker(responses, gold.responses, turn)
    return None if verdict["valid"] else str(verdict["error_type"]).removeprefix("multi_turn:")


def differ(world: World, other: World | GoldTurn) -> bool:
    """Returns whether the package's checker finds different states in two worlds of one entry."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import state_checker

    try:
        return not state_checker(world.instances, other.instances)["valid"]
    except RecursionError:  # a directory copied into itself, unlike every gold state
        return True
