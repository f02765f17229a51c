"""OpenEnv's own conformance check and its own client against our server."""

import json
import subprocess
from typing import Any

import pytest

from conftest import REPOSITORY, TESTS, TOKEN, Client, Serve

OPENENV = REPOSITORY / ".venv-openenv/bin/python"
PLAYED = ("bfcl", "intercode-sql")
CONCURRENT = 4


def run_openenv(script: str, *arguments: str, text: str = "") -> Any:
    assert OPENENV.exists(), "the official package is missing: run `npm run setup -- --with openenv`"
    command = [str(OPENENV), str(TESTS / script), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_every_mounted_environment_passes_the_official_validation(serve: Serve) -> None:
    open_server = serve(token=None)
    mounted = open_server.http.get("/health").json()["environments"]
    assert set(mounted) >= set(PLAYED)

    urls = [f"{open_server.url}/envs/{name}" for name in mounted]
    for url, verdict in zip(urls, run_openenv("official_openenv_validate.py", *urls), strict=True):
        report = verdict["report"]
        assert verdict["exit_code"] == 0, (url, report["summary"])
        assert report["passed"], (url, report["summary"])
        assert report["standard_profile"] == "openenv-http/1.x"
        assert report["summary"]["failed_criteria"] == []


@pytest.mark.parametrize("name", PLAYED)
def test_the_official_client_plays_gold_episodes_to_reward_1(server: Client, name: str) -> None:
    tasks = server.post(f"/envs/{name}/data/tasks", split="train", count=CONCURRENT, seed=7)["tasks"]

    episodes = [
        {
            "reset": {"task": task["definition"], "seed": 0},
            "actions": [{"content": text} for text in task["reference_actions"]],
        }
        for task in tasks
    ]
    url = f"{server.url}/envs/{name}"
    wanted = {"url": url, "headers": {"authorization": f"Bearer {TOKEN}"}, "episodes": episodes}
    played = run_openenv("official_openenv_client.py", text=json.dumps(wanted))

    assert len(played) == CONCURRENT
    for observations, task in zip(played, tasks, strict=True):
        assert [o["done"] for o in observations] == [False] * len(task["reference_actions"]) + [True]
        assert observations[-1]["reward"] == 1
        assert observations[0]["observation"]["info"]["task_id"] == task["task_id"]
