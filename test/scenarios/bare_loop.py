"""Plays attempts one by one, without the service: no Temporal, no database, no TypeScript.

Reads from stdin `{"policy_url", "token", "policies" (their folder), "attempts": [{"environment", "definition", "seed",
"policy_id", "temperature", "max_tokens", "max_turns"}, ...]}` and prints, in that order, `[{"reward", "actions"}, ...]`.
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

from pathlib import Path

from coevolve_environments.registry import build_environments
from coevolve_environments.settings import SettingsFile

SEED_LIMIT = 2**31


def main() -> None:
    work = json.load(sys.stdin)
    attempts = work["attempts"]
    names = sorted({a["environment"] for a in attempts})
    environments = build_environments(names, SettingsFile(Path())).environments
    for policy_id in sorted({a["policy_id"] for a in attempts}):
        adapter = {"lora_name": policy_id, "lora_path": f"{work['policies']}/{policy_id}"}
        post(work, "load_lora_adapter", adapter)
    json.dump([play(work, environments[a["environment"]], a) for a in attempts], sys.stdout)


def play(work: dict[str, Any], environment: Any, attempt: dict[str, Any]) -> dict[str, Any]:
    """Plays one attempt; the reward is 0 unless the environment ends the episode."""
    episode = environment.start(attempt["definition"], attempt["seed"])
    answer = episode.open()
    conversation = list(answer.messages)
    actions: list[str] = []
    while not answer.done and len(actions) < attempt["max_turns"]:
        text = act(work, attempt, conversation, len(actions))
        if text is None:
            break
        actions.append(text.replace("\0", "\ufffd"))  # as stored: Postgres text holds no NUL
        answer = episode.act(text)
        conversation += [{"role": "assistant", "content": text}, *answer.messages]
    episode.close()
    return {"reward": answer.reward if answer.done else 0, "actions": actions}


def act(
    work: dict[str, Any], attempt: dict[str, Any], conversation: list[dict[str, str]], step: int
) -> str | None:
    """Returns the policy's next completion; None when the conversation exceeds its context."""
    request = {
        "model": attempt["policy_id"],
        "messages": conversation,
        "temperature": attempt["temperature"],
        "max_tokens": attempt["max_tokens"],
        "seed": (attempt["seed"] + step) % SEED_LIMIT,
    }
    try:
        completion = json.loads(post(work, "chat/completions", request))
    except urllib.error.HTTPError as error:
        if json.load(error)["error"]["code"] == "context_length_exceeded":
            return None
        raise
    return str(completion["choices"][0]["message"]["content"])


def post(work: dict[str, Any], path: str, body: dict[str, Any]) -> bytes:
    headers = {"authorization": f"Bearer {work['token']}", "content-type": "application/json"}
    url = f"{work['policy_url']}/v1/{path}"
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
    with urllib.request.urlopen(request) as response:
        return bytes(response.read())


main()
