"""One campaign: its tables as data frames, its orders, and waiting for it."""

import time
import uuid
from collections.abc import Collection, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from coevolve.errors import CoevolveError
from coevolve.frames import frame
from coevolve.transport import Filter, Row, Transport, filled

if TYPE_CHECKING:
    from datasets import Dataset

ENDED = ("finished", "stopped", "aborted")
POLL_SECONDS = 1.0


class Campaign:
    """A campaign. Use `Client.campaign`.

    Filters are the parameters of the API, such as `iteration=1`; a wrong one fails with the names that exist.
    A filter that no row satisfies gives an empty frame. `limit` is the number of rows, by default all.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self.name = name

    def status(self) -> Row:
        """Returns the row of the campaign, with `status`, `iteration`, `phase`, `success` and `waits_for`."""
        return self._transport.get(f"/campaigns/{self.name}")

    def wait(self, until: Collection[str] = (*ENDED, "parked"), timeout: float | None = None) -> Row:
        """Waits for one of the statuses, by default until the campaign ends or parks; returns its row.

        `timeout` is in seconds. Raises TimeoutError after it, and CoevolveError if the campaign ended
        otherwise.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            row = self.status()
            if row["status"] in until:
                return row
            if row["status"] in ENDED:
                raise CoevolveError(f"{self.name} is {row['status']}, expected {' or '.join(until)}")
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"{self.name} is {row['status']} after {timeout} s")
            time.sleep(POLL_SECONDS)

    def tasks_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the tasks: `id`, `goal`, `origin`, `split`, `verdict` and, of rejected ones, the `reason`.

        `id` is the `task_id` of attempts and pairs. Filters are among others `split`, `evaluation_set`,
        `origin`, `verdict`, `reason`, and `goal` for a part of the text.
        """
        return self._frame("tasks", filters)

    def attempts_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the finished attempts, newest first.

        `reward` is in [0, 1] and missing without a score, `seconds` is a duration, `signals` a list.
        Filters are among others `task_id`, `iteration`, `purpose`, `policy_id`, `outcome`, `min_reward`,
        `max_reward`.
        """
        return self._frame("attempts", filters)

    trajectories_df = attempts_df  # the papers' word for attempts

    def turns_df(self, attempt_id: str | None = None, *, tokens: bool = False) -> pd.DataFrame:
        """Returns the turns of an attempt, or of all: `action` and `observation`, a list of messages.

        With `tokens` also `prompt_token_ids`, `token_ids` and `logprobs`, the natural logarithms of
        probabilities.
        """
        return self._frame("turns", {"attempt_id": attempt_id, **({"detail": True} if tokens else {})})

    def pairs_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the preference pairs of all agents, newest first.

        `chosen_id` and `rejected_id` are attempts, whose texts `turns_df` returns; `kind` has the agents that
        made them, and `for_role` the agent that is trained on the pair. Filters: `task_id`, `iteration`,
        `kind`, `for_role`. The texts of the pairs that trained an agent are in `examples`.
        """
        return self._frame("pairs", filters)

    def policies_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the policies with their parent, training run and the decision about them."""
        return self._frame("policies", filters)

    def scores_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the evaluations by iteration, policy and evaluation set.

        `success` is the share of solved tasks in [0, 1], with `success_low` and `success_high` of its 95 %
        interval. `wins`, `losses` and `mcnemar_p` compare a candidate with its incumbent, on `dev` alone, and
        are missing elsewhere. Filters: `evaluation_set`, `iteration`, `policy_id`, `role`.
        """
        return self._frame("evaluations", filters)

    def curves_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the metrics of reported optimizer updates, such as `loss`, `grad_norm` and `reward`."""
        return self._frame("training-curves", filters)

    def events_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the events with their time and operator. Filters: `kind`, `actor`, `iteration`."""
        return self._frame("events", filters)

    def examples(
        self, kind: str = "trl-dpo", *, role: str = "target", iteration: int | None = None
    ) -> Iterator[Row]:
        """Returns the training examples of an agent one after another, in the order of their first use.

        `trl-dpo`: `prompt`, `chosen` and `rejected` of preference pairs; `trl-sft`: `messages` of
        demonstrations. Texts are lists of messages with the observations among them; `task_id`, `iteration`,
        `training_runs` and the ids of attempts are the sources of an example. `iteration` restricts them to
        training runs of one iteration. Raises ApiError `NothingToExport`, if nothing trained the agent.
        """
        path = filled("/campaigns/{campaign}/datasets/{kind}", {"campaign": self.name, "kind": kind})
        return self._transport.lines(path, {"role": role, "iteration": iteration})

    def to_dataset(
        self, kind: str = "trl-dpo", *, role: str = "target", iteration: int | None = None
    ) -> "Dataset":
        """Returns `examples` as a dataset of Hugging Face, in memory, as TRL's trainers take it.

        Needs `pip install 'coevolve[datasets]'`.
        """
        try:
            from datasets import Dataset
        except ImportError as error:
            raise CoevolveError("next: pip install 'coevolve[datasets]'") from error
        rows = list(self.examples(kind, role=role, iteration=iteration))
        names = dict.fromkeys(name for row in rows for name in row)
        return Dataset.from_dict({name: [row.get(name) for row in rows] for name in names})

    def flips_df(
        self, evaluation_set: str = "dev", before: str | None = None, after: str | None = None
    ) -> pd.DataFrame:
        """Returns the tasks whose success differs between two policies: gained ones first, lost ones last.

        `task_id` and `goal` name the task. `success_before` and `success_after` are shares of scored
        attempts with reward 1, `gain` is their difference; `attempts_before` and `attempts_after` list ids.
        `before` and `after` are ids of policies or their first digits, by default the first and the last that
        were evaluated on the set. Raises CoevolveError, if they are not two evaluated policies.
        """
        policies = list(dict.fromkeys(self.scores_df(evaluation_set=evaluation_set)["policy_id"]))
        chosen = [*matching(policies, before, 0), *matching(policies, after, -1)]
        if len(set(chosen)) != 2:
            raise CoevolveError(
                f"{evaluation_set}: found {len(set(chosen))} of the policies {before or 'first'} and "
                f"{after or 'last'}, expected two of {', '.join(id[:12] for id in policies) or 'none'}"
            )
        one, other = (self._successes(evaluation_set, policy) for policy in chosen)
        joined = one.add_suffix("_before").join(other.add_suffix("_after"), how="inner")
        flipped = joined[joined["success_before"] != joined["success_after"]]
        gain = (flipped["success_after"] - flipped["success_before"]).rename("gain")
        goals = self.tasks_df(evaluation_set=evaluation_set).set_index("id")["goal"].rename_axis("task_id")
        ordered = flipped.assign(gain=gain).sort_values("gain", ascending=False, kind="stable")
        return ordered.join(goals).reset_index()

    def _successes(self, evaluation_set: str, policy_id: str) -> pd.DataFrame:
        purpose = "evaluation" if evaluation_set == "dev" else "test"
        attempts = self.attempts_df(policy_id=policy_id, purpose=purpose, outcome="scored", order="asc")
        scored = attempts[attempts["evaluation_set"] == evaluation_set]
        groups = scored.assign(solved=scored["reward"] >= 1).groupby("task_id")
        return groups.agg(success=("solved", "mean"), attempts=("id", list))

    def pause(self, *, reason: str) -> Row:
        """Pauses after the running work. Returns the row of the order."""
        return self.order("pause", reason=reason)

    def resume(self, *, reason: str) -> Row:
        """Continues a paused or parked campaign. Returns the row of the order."""
        return self.order("resume", reason=reason)

    def stop(self, *, reason: str) -> Row:
        """Ends the campaign after its iteration. Returns the row of the order."""
        return self.order("stop", reason=reason)

    def order(self, kind: str, *, reason: str, request_id: str | None = None, **keys: Any) -> Row:
        """Gives an order, as `Client.order`."""
        body = {
            "kind": kind,
            "campaign": self.name,
            "reason": reason,
            "request_id": request_id or uuid.uuid4().hex,
        }
        return self._transport.post("/orders", {**body, **keys})

    def __repr__(self) -> str:
        row = self.status()
        return f"<coevolve campaign {self.name}: {row['status']}, iteration {row['iteration']}>"

    def _repr_html_(self) -> str:
        row = self.status()
        shown = ("status", "recipe", "environment", "iteration", "phase", "success", "usd", "waits_for")
        cells = "".join(f"<tr><th>{name}</th><td>{escape(str(row[name]))}</td></tr>" for name in shown)
        return f"<table><caption>{escape(self.name)}</caption>{cells}</table>"

    def _frame(self, name: str, filters: dict[str, Filter]) -> pd.DataFrame:
        template = f"/campaigns/{{campaign}}/{name}"
        rows = self._transport.rows(template, {"campaign": self.name}, filters)
        return frame(rows, self._transport.columns(template, detail=filters.get("detail") is True))


def matching(policies: list[str], digits: str | None, default: int) -> list[str]:
    """Returns the policies whose ids begin with `digits`; without them the one at the index `default`."""
    if digits is None:
        return [policies[default]] if policies else []
    return [policy for policy in policies if policy.startswith(digits)]
