"""The action of a SQL task: one statement, or `submit`."""

import re

from coevolve_environments.plugins.intercode_sql.task_record import SUBMIT
from coevolve_environments.plugins.spellings import action_text

_ARGUMENTS = ("sql", "query", "statement", "command", "action")
_FENCE = re.compile(r"\A```(?:sql)?", re.IGNORECASE)
_VERB = r"(?:select|with|show|describe|desc|explain|insert|update|delete|create|drop|alter|pragma)\b"
_SENTENCE = re.compile(rf"\A(?!{_VERB}|\(|--|/\*)[^;]*?[.:!?][ \t]*\n\s*(?={_VERB})", re.IGNORECASE)


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
