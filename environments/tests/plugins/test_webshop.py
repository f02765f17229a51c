"""The contract with a WebShop text server, tested with a FAKE one: its figures are no benchmark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.remote.client import BadRemoteResponse
from coevolve_environments.plugins.webshop.environment import goals_in
from coevolve_environments.plugins.webshop.episode import shop_action
from coevolve_environments.plugins.webshop.shop import read_page
from coevolve_environments.protocol import Unavailable
from coevolve_environments.registry import build_environments
from coevolve_environments.settings import SettingsFile
from conftest import Client, Serve, error_code, start_server, stop_server, text_of, wait_until
from fake_server import FakeServer, fake_server
from json_responses import json_values

GOLD = ["search[wool scarf]", "click[fake0001]", "click[grey]", "click[Buy Now]"]


@pytest.fixture(scope="module")
def shop() -> Iterator[FakeServer]:
    with fake_server("fake_webshop.py") as server:
        yield server


def settings_file(folder: Path, url: str, **more: Any) -> Path:
    section = {"url": url, "goals": 3, "train": "1-2", "held_out": "0", "timeout_seconds": 1, **more}
    file = folder / "environments.yaml"
    file.write_text(yaml.safe_dump({"hosted": {"webshop": section}}))
    return file


@pytest.fixture(scope="module")
def client(shop: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("webshop")
    arguments = ["--environments", "webshop", "--settings", str(settings_file(folder, shop.url))]
    served = start_server(folder, *arguments)
    yield served
    stop_server(served)


def remote_sessions(server: FakeServer) -> int:
    return len(httpx.get(f"{server.url}/list_envs", trust_env=False).json())


def task_of(client: Client, split: str = "held-out", **options: Any) -> dict[str, Any]:
    body = {"split": split, "count": 1, "seed": 0, "options": options}
    return dict(client.post("/envs/webshop/data/tasks", **body)["tasks"][0]["definition"])


def test_a_complete_match_has_reward_1_and_its_remote_session_is_closed(
    client: Client, shop: FakeServer
) -> None:
    with client.session("webshop") as session:
        first = session.reset(task=task_of(client))["data"]["observation"]
        assert "FAKE WebShop" in first["messages"][1]["content"]
        assert "soft wool scarf in grey" in first["messages"][1]["content"]
        data = session.play(task_of(client), [f"Thought: next.\nAction: {action}" for action in GOLD])
        wait_until(lambda: remote_sessions(shop) == 1, "the shop has more than the last session")
    assert (data["reward"], data["done"]) == (1.0, True)
    assert data["metadata"] == {
        "raw_score": 1.0,
        "success": True,
        "stop_reason": "completed",
        "error_type": None,
    }
    wait_until(lambda: remote_sessions(shop) == 0, "the shop still has the session")


def test_a_partial_match_has_a_partial_reward(client: Client) -> None:
    with client.session("webshop") as session:
        data = session.play(task_of(client), [GOLD[0], "click[fake0002]", "click[buy now]"])
    assert data["reward"] == 0.25  # one attribute of two, no option, too expensive
    assert data["metadata"]["success"] is False


def test_a_composed_task_replaces_the_instruction_on_every_page_and_has_no_reward_of_the_shop(
    client: Client,
) -> None:
    query = "Look at a grey scarf without buying it."
    body = {"parent": task_of(client, "train"), "query": query, "actions": GOLD[:3], "options": {}}
    task = client.post("/envs/webshop/data/compose", **body)["task"]
    assert (task["grader"], task["reference_actions"]) == ("judge", [*GOLD[:3], "finish[]"])
    with client.session("webshop") as session:
        pages = [text_of(session.reset(task=task["definition"], seed=0)), text_of(session.step(GOLD[0]))]
        for page in pages:
            assert f"Instruction: [SEP] {query} [SEP]" in page
        assert "replaces" not in pages[0]
        assert "finish[" in pages[0]
        assert session.play(task["definition"], GOLD)["reward"] == 0.0


def test_an_episode_without_a_purchase_has_reward_0(client: Client) -> None:
    with client.session("webshop") as session:
        data = session.play(task_of(client, max_turns=3), GOLD[:3])
    assert (data["reward"], data["done"]) == (0.0, True)
    assert data["metadata"]["stop_reason"] == "turn-limit"
    assert data["metadata"]["error_type"] == "no-purchase"


def test_an_invalid_action_costs_a_step_and_is_not_sent(client: Client) -> None:
    with client.session("webshop") as session:
        data = session.play(task_of(client, max_turns=2), ["I would like a scarf"])
        assert "search[<keywords>]" in data["observation"]["messages"][0]["content"]
        data = session.step("look around")["data"]
    assert (data["reward"], data["metadata"]["error_type"]) == (0.0, "bad-format")


@pytest.mark.parametrize("keywords", ["stall", "odd"])
def test_an_error_of_the_shop_at_one_text_alone_is_the_result_of_the_text(
    client: Client, keywords: str
) -> None:
    with client.session("webshop") as session:
        session.reset(task=task_of(client))
        ended = session.step(f"search[{keywords}]")["data"]
    assert (ended["reward"], ended["metadata"]["stop_reason"]) == (0.0, "world-ended")


def test_a_crash_of_the_shop_is_a_fault_without_reward(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_webshop.py") as shop:
        client = serve("--environments", "webshop", "--settings", str(settings_file(tmp_path, shop.url)))
        expect_fault(client, "crash", "Unreachable")


def expect_fault(client: Client, keywords: str, named: str) -> None:
    with client.session("webshop") as session:
        session.reset(task=task_of(client))
        failed = session.step(f"search[{keywords}]")
    assert error_code(failed) == "EXECUTION_ERROR"
    assert named in failed["data"]["message"]
    assert "reward" not in failed["data"]


def test_an_unreachable_shop_is_a_fault_of_the_reset(serve: Serve, tmp_path: Path) -> None:
    client = serve(
        "--environments", "webshop", "--settings", str(settings_file(tmp_path, "http://127.0.0.1:9"))
    )
    with client.session("webshop") as session:
        failed = session.reset(task_id="webshop/0")
    assert failed["data"]["code"] == "EXECUTION_ERROR"
    assert "http://127.0.0.1:9/create" in failed["data"]["message"]


def test_sessions_of_a_shop_without_a_close_route_are_reused(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_webshop.py", "--without-close") as shop:
        client = serve("--environments", "webshop", "--settings", str(settings_file(tmp_path, shop.url)))
        for _ in range(3):
            with client.session("webshop") as session:
                assert session.play(task_of(client), GOLD)["reward"] == 1.0
            wait_until(
                lambda: client.http.get("/health").json()["environments"]["webshop"]["sessions"] == 0, ""
            )
        assert remote_sessions(shop) <= 2  # the first is being closed while the second may start


def test_reused_sessions_survive_a_restart_of_the_shop(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_webshop.py") as shop:
        settings = settings_file(tmp_path, shop.url, episodes_per_child=50, sessions=1)
        client = serve("--environments", "webshop", "--settings", str(settings))
        with client.session("webshop") as session:
            for _ in range(3):
                assert session.play(task_of(client), GOLD)["reward"] == 1.0
            assert remote_sessions(shop) == 1
            session.play(task_of(client, max_turns=1), ["search[forget]"])
            assert remote_sessions(shop) == 0
            assert session.play(task_of(client), GOLD)["reward"] == 1.0


def test_the_remote_session_of_a_disconnected_client_is_closed(client: Client, shop: FakeServer) -> None:
    session = client.session("webshop")
    session.reset(task=task_of(client))
    session.step("search[scarf]")
    session.connection.socket.close()
    wait_until(lambda: remote_sessions(shop) == 0, "the shop still has the session")


def test_the_settings_define_the_splits_and_an_option_selects_goals(client: Client) -> None:
    def goals(split: str, **options: Any) -> list[int]:
        body = {"split": split, "count": 9, "seed": 0, "options": options}
        drawn = client.post("/envs/webshop/data/tasks", **body)["tasks"]
        return sorted(task["definition"]["goal"] for task in drawn)

    assert goals("train") == [1, 2]
    assert goals("held-out") == [0]
    assert goals("train", goals="0-1") == [1]
    body = {"split": "train", "count": 1, "seed": 0, "options": {"goals": "first"}}
    refused = client.http.post("/envs/webshop/data/tasks", json=body)
    assert refused.status_code == 400
    assert "options.goals" in refused.json()["detail"]
    capabilities = client.http.get("/envs/webshop/data/capabilities").json()
    assert (capabilities["gold"], capabilities["replay"]) == (False, "none")


def built(**section: Any) -> Any:
    file = SettingsFile(Path(), Path(), {"webshop": {"url": "http://shop.example:1", **section}})
    return build_environments(["webshop"], file).environments["webshop"]


def test_the_default_splits_are_webshops_own() -> None:
    goals = {
        split: [r.definition["goal"] for r in built().published(split)] for split in ("train", "held-out")
    }
    assert goals == {"train": list(range(1_500, 6_910)), "held-out": list(range(500))}


def test_goals_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(json.dumps([7, 1_600]))
    made = built(train_file=str(tmp_path / "train.json"), held_out="0-4")
    assert [record.task_id for record in made.published("train")] == ["webshop/7", "webshop/1600"]


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({"url": "shop.example"}, "hosted.webshop.url"),
        ({"train": "0-9"}, "hosted.webshop.train: expected goals that are not held out"),
        ({"train": "9-1"}, "hosted.webshop.train"),
        ({"goals": 400}, "hosted.webshop"),
        ({"train_file": "/nowhere.json"}, "hosted.webshop.train_file"),
        ({"headers_file": "/nowhere.yaml"}, "hosted.webshop.headers_file"),
        ({"sesions": 3}, "hosted.webshop.sesions: unknown setting"),
    ],
)
def test_an_invalid_setting_is_named(section: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        built(**section)


def test_a_missing_address_names_the_setting() -> None:
    with pytest.raises(Unavailable, match=r"hosted\.webshop\.url"):
        build_environments(["webshop"], SettingsFile(Path()))


@settings(derandomize=True)
@given(st.text(), st.sampled_from(["search", "click", "Search", "CLICK"]), st.text(min_size=1))
def test_an_action_keeps_its_value_after_any_thought(thought: str, name: str, value: str) -> None:
    kept = " ".join(value.split())
    found = shop_action(f"Thought: {thought}\nAction: {name}[{kept}]")
    assert found == (f"{name.lower()}[{kept}]" if kept else None)


@settings(derandomize=True)
@given(st.text())
def test_any_text_is_a_valid_action_or_none(content: str) -> None:
    found = shop_action(content)
    assert found is None or (
        found.startswith(("search[", "click[")) and found.endswith("]") and "\n" not in found
    )


@settings(derandomize=True)
@given(json_values)
def test_every_response_of_the_shop_is_a_page_with_a_reward_or_a_fault(answer: object) -> None:
    try:
        page = read_page(answer)
    except BadRemoteResponse:
        return
    assert 0 <= page.reward <= 1


@settings(derandomize=True)
@given(st.sets(st.integers(0, 9_999), min_size=1, max_size=40))
def test_ranges_are_parsed_as_the_goals_that_they_contain(goals: set[int]) -> None:
    assert goals_in(",".join(str(goal) for goal in goals)) == sorted(goals)
    assert goals_in(f"{min(goals)} - {max(goals)}") == list(range(min(goals), max(goals) + 1))
