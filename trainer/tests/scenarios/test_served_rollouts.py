"""Rollouts as the policy server answers them are what the trainer learns from."""

from pathlib import Path

from job_folder import resident_job
from policy_server_process import ask


def test_the_trainer_agrees_with_the_logprobs_that_the_server_recorded(
    server: str, model: str, trained: Path, tmp_path: Path
) -> None:
    rows = []
    for attempt in range(8):
        reply = ask(server, model, temperature=0.9, seed=attempt, logprobs=True, return_token_ids=True).json()
        (choice,) = reply["choices"]
        logprobs = [entry["logprob"] for entry in choice["logprobs"]["content"]]
        answer = {"token_ids": choice["token_ids"], "logprobs": logprobs}
        step = {"prompt_token_ids": reply["prompt_token_ids"], **answer}
        rows.append({"trajectory_id": str(attempt), "group": "task", "advantage": 1.0, "steps": [step]})
    job = resident_job(tmp_path / "job", trained, steps=1)
    job.submit(1, rows)
    assert job.run() == 0
    (policy,) = job.status["policies"]
    assert policy["metrics"]["logp_gap"] < 1e-4
