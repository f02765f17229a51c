"""The trainer trains on rollouts as the policy server records them."""

from pathlib import Path

from job_folder import rl_job
from policy_server_process import complete


def test_the_trainer_computes_the_logprobs_that_the_server_recorded(
    server: str, model: str, trained: Path, tmp_path: Path
) -> None:
    rows = []
    for attempt in range(8):
        sampling = {"temperature": 0.9, "seed": attempt, "logprobs": True, "return_token_ids": True}
        body = complete(server, model, **sampling).json()
        (choice,) = body["choices"]
        turn = {
            "prompt_token_ids": body["prompt_token_ids"],
            "token_ids": choice["token_ids"],
            "logprobs": [entry["logprob"] for entry in choice["logprobs"]["content"]],
        }
        rows.append({"trajectory_id": str(attempt), "group": "task", "advantage": 1.0, "turns": [turn]})
    job = rl_job(tmp_path / "job", trained, steps=1)
    job.submit(1, rows)
    assert job.run() == 0
    (policy,) = job.status["policies"]
    assert policy["metrics"]["logp_gap"] < 1e-4
