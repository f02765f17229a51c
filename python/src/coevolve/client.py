"""The connection, and everything that is not of one campaign."""

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from coevolve.campaign import Campaign
from coevolve.errors import NotConnectedError
from coevolve.frames import frame
from coevolve.transport import Filter, Row, Transport


class Client:
    """A connection to a server. Use `coevolve.connect`; `with` closes it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def campaigns_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the campaigns, newest first.

        `success` is on the dev set in [0, 1], with `success_low` and `success_high` of its 95 % interval;
        `usd` and `gpu_seconds` are spent; `waits_for` is the reason for which a campaign waits, or
        missing. Filters: `status`, `recipe`, `environment`.
        """
        return self._frame("/campaigns", filters)

    def campaign(self, name: str) -> Campaign:
        """Returns a campaign. Raises ApiError `UnknownCampaign`, if there is none of this name."""
        campaign = Campaign(self._transport, name)
        campaign.status()
        return campaign

    def experiments_df(self, **filters: Filter) -> pd.DataFrame:
        """Returns the experiments with the number of their finished cells."""
        return self._frame("/experiments", filters)

    def experiment_scores_df(self, experiment: str, **filters: Filter) -> pd.DataFrame:
        """Returns the scores of an experiment: a row per arm, seed, checkpoint and task, in [0, 1]."""
        template = "/experiments/{experiment}/scores"
        rows = self._transport.rows(template, {"experiment": experiment}, filters)
        return frame(rows, self._transport.columns(template))

    def start(
        self,
        name: str,
        spec: str | dict[str, Any],
        *,
        reason: str,
        changes: Sequence[str] = (),
        request_id: str | None = None,
    ) -> Campaign:
        """Starts the campaign of a spec, which is YAML text or a dictionary.

        `changes` are settings such as `rollouts.attempts=8`. A call with the same `request_id` starts
        nothing twice. Raises ApiError with the field, the value found and the value expected, if the spec
        is wrong.
        """
        body = {"spec": spec, "set": list(changes)}
        self.order("start", name, reason=reason, request_id=request_id, **body)
        return Campaign(self._transport, name)

    def order(
        self, kind: str, campaign: str, *, reason: str, request_id: str | None = None, **keys: Any
    ) -> Row:
        """Gives an order and returns its row, whose `state` is the progress of the order.

        `kind` is pause, resume, retry, skip, stop, abort, approve, raise-budget, start or fork; `keys`
        are further keys of the API. Raises ApiError with the status 409, if the state of the campaign
        refuses it.
        """
        body = {
            "kind": kind,
            "campaign": campaign,
            "reason": reason,
            "request_id": request_id or uuid.uuid4().hex,
        }
        return self._transport.post("/orders", {**body, **keys})

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"coevolve.connect({self._transport.url!r})"

    def _repr_html_(self) -> str:
        html: str = self.campaigns_df()[
            ["name", "status", "iteration", "success", "usd", "waits_for"]
        ].to_html()
        return html

    def _frame(self, template: str, filters: dict[str, Filter]) -> pd.DataFrame:
        return frame(self._transport.rows(template, {}, filters), self._transport.columns(template))


def connect(url: str | None = None, token: str | None = None, *, home: str | Path | None = None) -> Client:
    """Connects to the API of coevolve.

    Without `url` it takes `COEVOLVE_URL`, otherwise the stack on this machine, whose state is in `home`: by
    default `COEVOLVE_HOME`, `.coevolve` in the working folder, or `~/.coevolve`. The token is
    `COEVOLVE_TOKEN`, or the tokens of the stack. Raises NotConnectedError, if there is no address or token.
    """
    given = url or os.environ.get("COEVOLVE_URL")
    secret = token or os.environ.get("COEVOLVE_TOKEN")
    if given is not None:
        if secret is None:
            raise NotConnectedError(
                "token: found none, expected the token of the server\n  next: connect(url, token)"
            )
        return Client(Transport(given, read=secret, operate=secret))
    folder = stack_home(home)
    port = json.loads((folder / "stack.json").read_text())["ports"].get("api")
    if port is None:
        raise NotConnectedError(f"{folder}: the stack has no API\n  next: coevolve up")
    read, operate = (secret or token_of(folder, role) for role in ("read", "operate"))
    return Client(Transport(f"http://127.0.0.1:{port}", read, operate))


def stack_home(home: str | Path | None) -> Path:
    named = home or os.environ.get("COEVOLVE_HOME")
    folders = [Path(named)] if named else [Path(".coevolve"), Path.home() / ".coevolve"]
    for folder in folders:
        if (folder / "stack.json").is_file():
            return folder
    places = " nor ".join(str(folder) for folder in folders)
    raise NotConnectedError(
        f"found no stack in {places}\n  next: coevolve up, or coevolve.connect(url, token)"
    )


def token_of(home: Path, role: str) -> str | None:
    file = home / "secrets" / f"api-{role}-token"
    return file.read_text().strip() if file.is_file() else None
