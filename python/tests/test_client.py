"""The installed wheel against a running server, which test/python/client.test.ts starts on a seeded database.

`COEVOLVE_TEST` is a JSON object: the ids of the rows in the database, and a home with the state of a stack.
"""

import json
import os
import re
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import coevolve
from coevolve import ApiError, Campaign, Client, CoevolveError, NotConnectedError
from coevolve.transport import Transport

seeded: dict[str, Any] = json.loads(os.environ["COEVOLVE_TEST"])
url, token = os.environ["COEVOLVE_URL"], os.environ["COEVOLVE_TOKEN"]


@pytest.fixture
def run() -> Client:
    return coevolve.connect()


@pytest.fixture
def campaign(run: Client) -> Campaign:
    return run.campaign(seeded["campaign"])


def test_the_package_is_the_wheel() -> None:
    assert "site-packages" in str(coevolve.__file__)


def test_campaigns_are_a_frame_with_one_type_per_column(run: Client) -> None:
    frame = run.campaigns_df()
    assert list(frame["name"]) == [seeded["campaign"]]
    assert {name: str(frame[name].dtype) for name in ("id", "usd", "created_at", "finished_at")} == {
        "id": "Int64",
        "usd": "float64",
        "created_at": "datetime64[us, UTC]",
        "finished_at": "datetime64[us, UTC]",
    }


def test_a_frame_without_rows_has_the_same_columns_and_types(run: Client) -> None:
    some, none = run.campaigns_df(), run.campaigns_df(status="aborted")
    assert len(none) == 0
    assert dict(none.dtypes.astype(str)) == dict(some.dtypes.astype(str))


def test_every_page_of_a_list_is_read(campaign: Campaign) -> None:
    ids = list(campaign.attempts_df()["id"])
    assert len(ids) == len(set(ids)) == seeded["attempts"] > 1000


def test_pairs_of_a_task(campaign: Campaign) -> None:
    pairs = campaign.pairs_df(task_id="seed")
    assert list(pairs["chosen_reward"]) == [1.0]
    assert len(campaign.pairs_df(task_id="held")) == 0


def test_success_by_iteration_has_intervals(campaign: Campaign) -> None:
    scores = campaign.scores_df()
    assert list(scores[["iteration", "success", "success_low", "success_high"]].iloc[-1]) == [
        1,
        1.0,
        0.2,
        1.0,
    ]


def test_turns_have_their_tokens_on_request(campaign: Campaign) -> None:
    turns = campaign.turns_df(seeded["attempt"], tokens=True)
    assert list(turns["token_ids"]) == [[4, 5]]
    assert list(turns["logprobs"]) == [[-0.5, -0.25]]
    assert "token_ids" not in campaign.turns_df(seeded["attempt"])


def test_flipped_tasks_name_the_attempts_of_both_policies(campaign: Campaign) -> None:
    flips = campaign.flips_df()
    assert campaign.flips_df(before=seeded["start"], after=seeded["trained"]).equals(flips)
    assert list(flips["task_id"]) == ["held"]
    assert (flips["success_before"][0], flips["success_after"][0], flips["gain"][0]) == (0, 1, 1)
    assert flips["attempts_after"][0] == [f"1/evaluation/{seeded['trained'][:12]}/held/0"]
    assert flips["goal"][0] == campaign.tasks_df(evaluation_set="dev").set_index("id")["goal"]["held"]
    assert campaign.flips_df(before=seeded["start"][:8]).equals(flips)
    for wrong in ({"before": "nope"}, {"before": seeded["trained"]}, {"evaluation_set": "tset"}):
        with pytest.raises(CoevolveError, match=r"found \d of the policies .*, expected two of"):
            campaign.flips_df(**wrong)


def test_a_limit_is_the_number_of_rows(campaign: Campaign) -> None:
    newest = campaign.attempts_df()["id"]
    assert [list(campaign.attempts_df(limit=n)["id"]) for n in (3, 1001)] == [
        list(newest[:3]),
        list(newest[:1001]),
    ]


def test_an_unknown_campaign_is_named(run: Client) -> None:
    with pytest.raises(ApiError, match='no campaign is named "nope"'):
        run.campaign("nope")


def test_training_examples_are_a_dataset_for_trl(campaign: Campaign) -> None:
    pairs = campaign.to_dataset("trl-dpo")
    assert {"prompt", "chosen", "rejected"} <= set(pairs.column_names)
    assert "select 1\u2028, 2" in [message["content"] for message in pairs[0]["rejected"]]
    assert list(pairs) == list(campaign.examples("trl-dpo"))
    assert len(campaign.to_dataset("trl-sft", iteration=1)) == len(campaign.to_dataset("trl-sft")) - 1
    with pytest.raises(ApiError) as caught:
        campaign.to_dataset(iteration=99)
    assert caught.value.code == "NothingToExport"


def test_an_answer_that_ends_early_is_no_dataset() -> None:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=answer)
        answering.start()
        campaign = Campaign(Transport(f"http://127.0.0.1:{server.getsockname()[1]}", token, None), "any")
        with pytest.raises(NotConnectedError, match="not complete"):
            list(campaign.examples())
        answering.join()


def test_frames_become_frames_of_polars(campaign: Campaign) -> None:
    for frame in (campaign.tasks_df(), campaign.turns_df(tokens=True), campaign.pairs_df(task_id="held")):
        converted = coevolve.to_polars(frame)
        assert (converted.columns, len(converted)) == (list(frame.columns), len(frame))
    turns = coevolve.to_polars(campaign.turns_df(seeded["attempt"], tokens=True))
    assert turns["token_ids"].to_list() == [[4, 5]]
    assert json.loads(turns["observation"][0]) == campaign.turns_df(seeded["attempt"])["observation"][0]


@pytest.mark.parametrize("name", ["tasks", "policies", "curves", "events"])
def test_other_tables_have_the_columns_of_the_api(campaign: Campaign, name: str) -> None:
    frame: pd.DataFrame = getattr(campaign, f"{name}_df")()
    assert "campaign_id" in frame.columns


def test_a_wrong_filter_fails_with_the_names_that_exist(campaign: Campaign) -> None:
    with pytest.raises(CoevolveError, match=r"found the filter taskid, expected one of .*task_id"):
        campaign.attempts_df(taskid="seed")


def test_an_unknown_campaign_has_the_code_and_the_next_step(run: Client) -> None:
    with pytest.raises(ApiError) as caught:
        run.campaign("nowhere")
    assert (caught.value.status, caught.value.code) == (404, "UnknownCampaign")
    assert str(caught.value).endswith(f"next: {caught.value.next}")


def test_an_order_of_a_reader_is_refused(campaign: Campaign) -> None:
    with pytest.raises(ApiError) as caught:
        campaign.pause(reason="lunch")
    assert caught.value.status == 403


def test_an_order_with_the_token_of_operators_reaches_the_campaign(campaign: Campaign) -> None:
    operator = coevolve.connect(url, seeded["operate"])
    with pytest.raises(ApiError) as caught:  # this server has no Temporal
        operator.order("pause", campaign.name, reason="lunch")
    assert caught.value.status == 503


def test_waiting_ends_when_the_campaign_does(campaign: Campaign) -> None:
    with pytest.raises(TimeoutError, match="is running after 0 s"):
        campaign.wait(timeout=0)
    rows: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: rows.append(campaign.wait(timeout=60)))
    waiting.start()
    httpx.post(seeded["finish"], timeout=30).raise_for_status()
    waiting.join()
    assert [row["status"] for row in rows] == ["finished"]
    with pytest.raises(CoevolveError, match="is finished, expected parked"):
        campaign.wait(until=["parked"])


def test_notebooks_show_tables_and_text_of_models_as_text(run: Client, campaign: Campaign) -> None:
    assert "<table" in run._repr_html_()
    assert seeded["campaign"] in campaign._repr_html_()
    assert re.search(r"<coevolve campaign \S+: \w+, iteration 1>", repr(campaign))


def test_the_address_and_the_tokens_come_from_the_home_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COEVOLVE_URL")
    monkeypatch.delenv("COEVOLVE_TOKEN")
    assert len(coevolve.connect(home=seeded["home"]).campaigns_df()) == 1
    monkeypatch.setenv("COEVOLVE_HOME", seeded["home"])
    assert len(coevolve.connect().campaigns_df()) == 1


def test_without_a_stack_the_error_names_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COEVOLVE_URL")
    with pytest.raises(NotConnectedError, match="next: coevolve up"):
        coevolve.connect(home=tmp_path)


def test_a_server_that_is_away_is_named() -> None:
    with pytest.raises(NotConnectedError, match=r"http://127\.0\.0\.1:1 does not answer"):
        coevolve.connect("http://127.0.0.1:1", token).campaigns_df()
