"""Metrics of the server, and the information that they must not contain."""

from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from conftest import Serve, error_code, wait_until
from counting_server import TASK, children_of, metric, serve_counting, sessions_of


def test_episodes_actions_faults_and_children_are_counted(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, pool=2)
    with client.session("counting") as session:
        session.play({}, ["add 1"] * 5)
        session.reset(**TASK)
        session.step("add 1")
        assert metric(client, "sessions", environment="counting") == 1
        assert metric(client, "capacity", environment="counting") == 2
        assert metric(client, "children", pool="counting") == len(children_of(client)) == 1
        assert metric(client, "children_resident_bytes", pool="counting") > 2**20
        assert session.step("fail 0")["data"]["done"]
        session.reset(**TASK)
        session.connection.send('{"type": "step", "data": {"content": "sleep 1"}}')
        children_of(client)[0].kill()
        assert error_code(session.receive()) == "EXECUTION_ERROR"
    wait_until(lambda: sessions_of(client) == 0, "the session outlived its socket")
    assert metric(client, "episodes_total", environment="counting") == 3
    assert metric(client, "turns_total", environment="counting") == 7
    assert metric(client, "turn_seconds_count", environment="counting") == 7
    assert metric(client, "reset_seconds_count", environment="counting") == 3
    assert metric(client, "worlds_ended_total", environment="counting", kind="error") == 1
    assert metric(client, "faults_total", environment="counting", kind="killed") == 1
    assert metric(client, "leases_ended_total", environment="counting", reason="closed") == 1
    assert metric(client, "server_resident_bytes") > 2**20


def test_metrics_need_no_token_and_contain_no_task_and_no_holder(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path)
    with client.session("counting") as session:
        session.reset(**TASK, lease={"holder": "campaign/canary"})
        with httpx.Client(base_url=client.url) as anonymous:
            metrics = anonymous.get("/metrics")
            assert anonymous.get("/leases").status_code == 401
            assert anonymous.post("/leases/close", json={"holder": "campaign/canary"}).status_code == 401
    assert metrics.headers["content-type"].startswith("text/plain")
    labels = {
        label
        for family in text_string_to_metric_families(metrics.text)
        for sample in family.samples
        for label in sample.labels
    }
    assert labels <= {"environment", "pool", "kind", "reason", "le"}
    assert "canary" not in metrics.text
    assert "counting/1" not in metrics.text
