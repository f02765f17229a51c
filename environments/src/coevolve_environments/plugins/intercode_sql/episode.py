"""One attempt at one question: up to ten queries, then the result of the last one is scored."""

import re

from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError, Row
from coevolve_environments.plugins.intercode_sql.score import score
from coevolve_environments.plugins.intercode_sql.task_record import SUBMIT
from coevolve_environments.plugins.spellings import action_text
from coevolve_environments.plugins.validation import require_fields
from coevolve_environments.protocol import BadRequest, Json, Observation, StopReason

MAX_TURNS = 10
OBSERVATION_CHARACTERS = 350  # as published
_SHOWN_ROWS = 50
_FIELDS = {"task_id": str, "split": str, "database": str, "question": str, "gold": str}
_INSTRUCTION = "Write one SQL query at a time, then submit."
_ARGUMENTS = ("sql", "query", "statement", "command", "action")
_FENCE = re.compile(r"\A```(?:sql)?", re.IGNORECASE)
_VERB = r"(?:select|with|show|describe|desc|explain|insert|update|delete|create|drop|alter|pragma)\b"
_SENTENCE = re.compile(rf"\A(?!{_VERB}|\(|--|/\*)[^;]*?[.:!?][ \t]*\n\s*(?={_VERB})", re.IGNORECASE)


class SqlEpisode:
    """Protocol of InterCode (arXiv:2306.14898): an action is SQL or `submit`, the reward comes at the end.

    If the tenth action is not `submit`, the last result is scored as if it had been submitted.
    """

    def __init__(self, engine: Engine, definition: Json) -> None:
        self._definition = _checked(definition, engine)
        self.task_id: str = definition["task_id"]
        self.split: str = definition["split"]
        self._engine = engine
        self._sandbox = engine.open(definition["database"])
        self._gold: list[Row] = []
        self._answer: list[Row] | None = None
        self._turn = 0
        self._error: str | None = "no-answer"

    def open(self) -> Observation:
        """
        Raises:
            BadRequest: the gold query fails or returns no rows, so that no answer could be scored.
        """
        try:
            self._gold = self._sandbox.run(self._definition["gold"])
        except QueryError as error:
            raise BadRequest(f"{self.task_id}: the gold query fails: {error}") from error
        if not self._gold:
            raise BadRequest(f"{self.task_id}: the gold query returns no rows; an empty answer would score 1")
        database, question = self._definition["database"], self._definition["question"]
        lines = [f"Database: {database}", *self._schema(), f"Question: {question}"]
        messages = [
            {"role": "system", "content": _INSTRUCTION},
            {"role": "user", "content": "\n".join(lines)},
        ]
        return Observation(messages, turn=0)

    def act(self, content: str) -> Observation:
        self._turn += 1
        action = statement_of(content)
        if action.lower() == SUBMIT:
            return self._finish([], "completed")
        observation = self._query(action)
        messages = [{"role": "user", "content": observation[:OBSERVATION_CHARACTERS]}]
        if self._turn == MAX_TURNS:
            return self._finish(messages, "turn-limit")
        return Observation(messages, self._turn)

    def close(self) -> None:
        self._sandbox.close()

    def _query(self, sql: str) -> str:
        try:
            self._answer = self._sandbox.run(sql)
        except QueryError as error:
            self._answer, self._error = None, "query-error"  # as published: the last statement counts
            return f"Error: {error}"
        self._error = None
        return str(self._answer[:_SHOWN_ROWS])

    def _finish(self, messages: list[dict[str, str]], stop_reason: StopReason) -> Observation:
        raw = score(self._answer, self._gold, ordered=self._definition.get("ordered", True))
        return Observation.final(
            messages,
            self._turn,
            reward=max(0.0, raw),
            raw_score=raw,
            success=raw == 1.0,
            stop_reason=stop_reason,
            error_type=self._error,
        )

    def _schema(self) -> list[str]:
        if not self._definition.get("schema"):
            return []
        tables = self._engine.tables(self._definition["database"])
        listed = (f"{table.name}({', '.join(column.name for column in table.columns)})" for table in tables)
        return ["Tables: " + ", ".join(listed)]


def _checked(definition: Json, engine: Engine) -> Json:
    require_fields(definition, {**_FIELDS, **({"ordered": bool} if "ordered" in definition else {})})
    if definition["database"] not in engine.names:
        raise BadRequest(f"unknown database {definition['database']!r}; known: {', '.join(engine.names)}")
    return definition


def statement_of(content: str) -> str:
    """Returns the SQL or `submit` of an assistant text, without fences and final semicolon.

    A statement behind a sentence begins a line and ends the answer; `submit` behind one is its last line.
    """
    text = action_text(content, _ARGUMENTS, (SUBMIT,))
    if text.count("```") <= 2:
        text = _FENCE.sub("", text).removesuffix("```").strip()
    if sentence := _SENTENCE.match(text):
        text = text[sentence.end() :]
    elif _is_submit_behind_sentence(text):
        text = SUBMIT
    return text.rstrip(";").strip()


def _is_submit_behind_sentence(text: str) -> bool:
    before, _, last = text.rpartition("\n")
    return last.strip().rstrip(";.").lower() == SUBMIT and before.rstrip().endswith((".", ":", "!", "?"))
