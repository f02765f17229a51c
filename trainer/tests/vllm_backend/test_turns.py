"""Several base models share vLLM in turn, and training jobs get its devices while no attempt has a turn."""

import asyncio
import contextlib
import itertools
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from coevolve_policy_server.api_errors import ApiError
from coevolve_vllm.device_leases import DeviceLeases
from scripted_backend import Setup, chat_request, run_test

TURNS_OF_AN_ATTEMPT = 10


async def play(setup: Setup, policy: str) -> None:
    """Plays as a rollout activity does: in a turn of the policy, with attempts that load it when needed."""

    async def attempt() -> None:
        for _ in range(TURNS_OF_AN_ATTEMPT):
            if policy not in setup.backend.policies:
                await setup.load(policy)
            await setup.backend.complete(chat_request(policy))

    async with setup.backend.turn(policy, setup.store / policy, lambda _: None):
        await asyncio.gather(attempt(), attempt())


async def play_iteration(setup: Setup, agents: tuple[str, ...], candidate: str) -> None:
    """Plays both agents' attempts side by side, then evaluates the policy that training made."""
    await asyncio.gather(*(play(setup, agent) for agent in agents * 3))
    await play(setup, candidate)


@pytest.mark.parametrize(
    ("arguments", "starts_per_iteration"),
    [
        ((), 0),
        pytest.param(("--without-sleep",), 2, marks=pytest.mark.of_all),
        pytest.param(("--stale-weights",), 2, marks=pytest.mark.of_all),
    ],
    ids=["load", "restart", "wrong load"],
)
def test_two_agents_with_whole_weights_cost_few_starts_per_iteration(
    tmp_path: Path, arguments: tuple[str, ...], starts_per_iteration: int
) -> None:
    starts = []

    async def test(setup: Setup) -> None:
        target, failure = (setup.policy("llama", seed) for seed in (1, 2))
        for iteration in range(3):
            candidate = setup.policy("llama", 10 + iteration)
            await play_iteration(setup, (target, failure), candidate)
            starts.append(len(setup.starts))
            target = candidate

    run_test(tmp_path, test, *arguments)
    # Without turns every action of the other agent was a start
    assert starts[0] <= 4
    assert [after - before for before, after in itertools.pairwise(starts)] == [starts_per_iteration] * 2


def test_new_weights_are_loaded_into_the_running_process_after_the_first_load_was_compared_with_a_start(
    tmp_path: Path,
) -> None:
    async def test(setup: Setup) -> None:
        one, other = setup.policy("llama", 1), setup.policy("llama", 2)
        for policy in (one, other, one, other):
            await play(setup, policy)
        assert setup.backend.policies == [other]

    setup = run_test(tmp_path, test)
    assert len(setup.starts) == 2
    assert setup.paths == ["/pause?mode=wait", "/collective_rpc", "/resume"] * 3
    bodies = [record["body"] for record in setup.records if record.get("path") == "/collective_rpc"]
    assert {body["method"] for body in bodies} == {"reload_weights"}


def test_a_vllm_that_loads_weights_wrongly_never_answers_with_them(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        one, other = setup.policy("llama", 1), setup.policy("llama", 2)
        for policy in (one, other, one):
            async with setup.backend.turn(policy, setup.store / policy, lambda _: None):
                await setup.load(policy)
                assert (await setup.backend.complete(chat_request(policy))).logprobs == [-0.5]

    setup = run_test(tmp_path, test, "--stale-weights")
    assert len(setup.starts) == 3
    assert setup.paths.count("/collective_rpc") == 1


def test_agents_with_devices_of_their_own_play_side_by_side(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        one, other = setup.policy("llama", 1), setup.policy("llama", 2)
        for _ in range(3):
            await asyncio.gather(play(setup, one), play(setup, other))
        assert sorted(setup.backend.policies) == sorted([one, other])

    setup = run_test(tmp_path, test, devices=[[3], [1, 2]])
    devices = {r["devices"]: r["start"] for r in setup.records if "start" in r}
    assert sorted(devices) == ["1,2", "3"]
    assert devices["1,2"][devices["1,2"].index("--tensor-parallel-size") + 1] == "2"
    assert devices["3"][devices["3"].index("--gpu-memory-utilization") + 1] == "0.9"


@contextlib.asynccontextmanager
async def training_job(folder: Path, devices: list[int]) -> AsyncIterator[None]:
    """Holds a lease as a training job does; its process is killed at the end and leaves the lease file."""
    job = folder / "job"
    (job / "run").mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["sleep", "60"]) as trainer:
        (job / "run" / "trainer.pid").write_text(f"{trainer.pid} trainer {start_time(trainer.pid)}\n")
        ended = {"pid": 2**22 + 1, "startTime": "0"}  # the worker that submitted the job
        lease = {"holder": "a job", "job": str(job), "devices": devices, "claimant": ended}
        (folder / "lease.json").write_text(json.dumps(lease))
        yield
        trainer.kill()


def start_time(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


@pytest.mark.parametrize("adapted", [False, True], ids=["whole policy", "adapter"])
def test_vllm_sleeps_while_a_training_job_holds_its_device_and_wakes_with_the_next_policy(
    tmp_path: Path, adapted: bool
) -> None:
    leases = tmp_path / "leases"
    leases.mkdir()

    async def test(setup: Setup) -> None:
        model = setup.policy("llama", 1)
        before = setup.adapter(model) if adapted else model
        after = before if adapted else setup.policy("llama", 2)
        await play(setup, before)
        async with training_job(leases, [0]):
            await setup.backend.release([0])
            assert setup.backend.policies == []
            assert setup.backend.health()["vllm"] == [{"state": "asleep", "base": model, "devices": [0]}]
            reasons: list[str] = []
            turn = setup.backend.turn(after, setup.store / after, reasons.append)
            waiting = asyncio.create_task(turn.__aenter__())
            while not reasons:
                await asyncio.sleep(0.01)
            assert reasons[0] == f"policy {model if adapted else after:.12} waits for a job"
        await waiting  # the job was killed, and its lease file is still there
        await play(setup, after)
        await turn.__aexit__(None, None, None)
        await setup.backend.release([0])
        await play(setup, before if adapted else model)

    setup = run_test(tmp_path, test, devices=[[0]], leases=DeviceLeases(leases))
    paths = [path for path in setup.paths if "lora" not in path]
    if adapted:
        assert (len(setup.starts), paths) == (1, ["/sleep?level=1&mode=wait", "/wake_up"] * 2)
    else:
        wake = ["/wake_up?tags=weights", "/collective_rpc", "/wake_up?tags=kv_cache"]
        assert (len(setup.starts), paths) == (2, ["/sleep?level=2&mode=wait", *wake] * 2)


def test_a_vllm_that_cannot_sleep_is_stopped_for_a_training_job(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        policy = setup.policy("llama")
        await play(setup, policy)
        await setup.backend.release([0])
        assert setup.backend.health()["vllm"] == [{"state": "idle", "base": None, "devices": [0]}]
        await play(setup, policy)

    assert len(run_test(tmp_path, test, "--without-sleep", devices=[[0]]).starts) == 2


def test_devices_are_not_released_while_attempts_have_a_turn(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        policy = setup.policy("llama")
        async with setup.backend.turn(policy, setup.store / policy, lambda _: None):
            await setup.load(policy)
            with pytest.raises(ApiError, match=f"attempts with policy {policy[:12]}") as refused:
                await setup.backend.release([0])
            assert refused.value.status == 409
        await setup.backend.release([0])

    run_test(tmp_path, test, devices=[[0]])


def test_base_models_get_their_turns_in_the_order_of_their_first_request(tmp_path: Path) -> None:
    async def test(setup: Setup) -> None:
        policies = [setup.policy("llama", seed) for seed in range(3)]
        order: list[str] = []

        async def hold(policy: str) -> None:
            async with setup.backend.turn(policy, setup.store / policy, lambda _: None):
                order.append(policy)
                await asyncio.sleep(0.05)

        one, two, three = policies
        await asyncio.gather(*(hold(policy) for policy in (one, two, three, one, two)))
        assert order == [one, one, two, two, three]

    run_test(tmp_path, test)
