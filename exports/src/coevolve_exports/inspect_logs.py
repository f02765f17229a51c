"""Inspect's logs, one per policy and evaluation set, written by Inspect's own library.

The input has a line of JSON per log, followed by a line per sample. All ids follow from the rows, so that a
repeated export has equal contents. A log is in memory until it is written: the library writes whole logs.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score


class Log(TypedDict):
    path: str
    id: str
    task: str
    dataset: str
    model: str
    created: str
    metadata: dict[str, Any]
    tasks: int
    metrics: dict[str, dict[str, float]]
    """Values by scorer and metric."""


class Message(TypedDict):
    role: str
    content: str


class Sample(TypedDict):
    id: str
    epoch: int
    uuid: str
    target: list[str]
    messages: list[Message]
    opening: int
    """Number of the messages before the first action."""
    scores: dict[str, float] | None
    error: str | None
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    turns: int
    completed_at: str
    metadata: dict[str, Any]


class Written(TypedDict):
    path: str
    rows: int
    bytes: int


def write_logs(lines: Iterable[str]) -> list[Written]:
    """Writes each log when its last sample was read."""
    written: list[Written] = []
    log: Log | None = None
    samples: list[EvalSample] = []
    for line in lines:
        entry = json.loads(line)
        if "log" in entry:
            if log is not None:
                written.append(write_log(log, samples))
            log, samples = entry["log"], []
        else:
            assert log is not None, "a sample precedes its log"
            samples.append(sample_of(entry["sample"], log["model"]))
    if log is not None:
        written.append(write_log(log, samples))
    return written


def write_log(log: Log, samples: list[EvalSample]) -> Written:
    scored = sum(sample.scores is not None for sample in samples)
    completed = max((s.completed_at for s in samples if s.completed_at), default=log["created"])
    spec = EvalSpec(
        eval_id=log["id"],
        run_id=log["id"],
        task_id=log["id"],
        created=log["created"],
        task=log["task"],
        dataset=EvalDataset(
            name=log["dataset"], samples=log["tasks"], sample_ids=sorted({str(s.id) for s in samples})
        ),
        model=log["model"],
        config=EvalConfig(epochs=max((s.epoch for s in samples), default=1)),
        metadata=log["metadata"],
    )
    scores = [
        EvalScore(
            name=name,
            scorer=name,
            scored_samples=scored,
            unscored_samples=len(samples) - scored,
            metrics={metric: EvalMetric(name=metric, value=value) for metric, value in values.items()},
        )
        for name, values in log["metrics"].items()
    ]
    results = EvalResults(total_samples=len(samples), completed_samples=scored, scores=scores)
    stats = EvalStats(
        started_at=log["created"], completed_at=completed, model_usage=usage_of(samples, log["model"])
    )
    whole = EvalLog(status="success", eval=spec, results=results, stats=stats, samples=samples)
    write_eval_log(whole, log["path"], format="eval")
    return {"path": Path(log["path"]).name, "rows": len(samples), "bytes": Path(log["path"]).stat().st_size}


def sample_of(sample: Sample, model: str) -> EvalSample:
    ids = (f"{sample['uuid']}/{n}" for n in count())
    messages = messages_of(sample["messages"], ids, model)
    answers = [message for message in messages if isinstance(message, ChatMessageAssistant)]
    usage = ModelUsage(
        input_tokens=sample["prompt_tokens"],
        output_tokens=sample["completion_tokens"],
        total_tokens=sample["prompt_tokens"] + sample["completion_tokens"],
    )
    error = sample["error"]
    return EvalSample(
        id=sample["id"],
        epoch=sample["epoch"],
        uuid=sample["uuid"],
        input=messages[: sample["opening"]],
        target=sample["target"],
        messages=messages,
        output=ModelOutput.from_message(answers[-1]) if answers else ModelOutput(model=model),
        scores=sample["scores"] and {name: Score(value=value) for name, value in sample["scores"].items()},
        error=EvalError(message=error, traceback="", traceback_ansi="") if error is not None else None,
        model_usage={model: usage},
        total_time=sample["seconds"],
        turn_count=sample["turns"],
        completed_at=sample["completed_at"],
        metadata=sample["metadata"],
    )


def messages_of(messages: list[Message], ids: Iterator[str], model: str) -> list[ChatMessage]:
    def message_of(message: Message, name: str) -> ChatMessage:
        content = message["content"]
        if message["role"] == "assistant":
            return ChatMessageAssistant(id=name, content=content, model=model, source="generate")
        if message["role"] == "system":
            return ChatMessageSystem(id=name, content=content)
        if message["role"] == "tool":
            return ChatMessageTool(id=name, content=content)
        return ChatMessageUser(id=name, content=content)

    return [message_of(message, name) for message, name in zip(messages, ids, strict=False)]


def usage_of(samples: list[EvalSample], model: str) -> dict[str, ModelUsage]:
    total = ModelUsage()
    for sample in samples:
        total += sample.model_usage[model]
    return {model: total}
