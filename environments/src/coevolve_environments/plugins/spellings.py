"""Natural spellings of an action that is one text: code, a query or a command.

Each environment accepts only spellings from which its action follows. An answer with two candidates stays as
it is, and fails as the text that it is. Thinking never reaches an environment.
"""

import re
from collections.abc import Collection

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.written_calls import JsonCall, json_calls, named_calls

_START = r"<(?:tool_?call|function_call|\|tool_call(?:_start)?\|)>"  # Qwen and Hermes, Granite, Phi, MiniCPM
_END = r"</(?:tool_?call|function_call)>|<\|/tool_call\|>|<\|tool_call_end\|>"
TAGGED = re.compile(rf"{_START}(.*?)(?:{_END}|(?={_START})|\Z)", re.IGNORECASE | re.DOTALL)
PREFIX = re.compile(r"<\|python_tag\|>|\[TOOL_CALLS\](?=\s*[\[{])|\bfunctools(?=\[)")  # Llama, Mistral, Phi
_LAST_TOKENS = re.compile(r"(?:<\|\w{1,30}\|>|</s>){1,4}\s*\Z")
FENCED = re.compile(r"```[\w+-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"`([^`]+)`")
MAX_COMMAND_CHARACTERS = 200
"""No command of the text games is longer, and the parsers' work grows with the text."""
COMMAND_ARGUMENTS = ("command", "action")
"""Names of the argument of a JSON call that is a command."""


def action_text(content: str, arguments: Collection[str], names: Collection[str] = ()) -> str:
    """Returns the action of an answer: after `Action:`, in its only fence, in backticks, in its JSON call.

    Args:
        arguments: names of an argument that is the action, if it is the call's only one.
        names: names of calls without arguments that are actions themselves.
    """
    answer = bare_answer(content)
    if (call := only_call(answer)) is not None:
        values = list(call.arguments.items())
        if len(values) == 1 and values[0][0] in arguments and isinstance(values[0][1], str):
            return values[0][1].strip()
        return call.name if not values and call.name in names else answer
    fenced = FENCED.findall(answer)
    if len(fenced) == 1:
        return str(fenced[0]).strip()
    quoted = _QUOTED.fullmatch(answer)
    return quoted[1].strip() if quoted else answer


def bare_answer(content: str) -> str:
    """Returns the text after the last `Action:`, and after the tag of Llama or Mistral."""
    return PREFIX.split(answer_of(content))[-1].strip()


def answer_of(content: str) -> str:
    """Returns the text after the last `Action:`, without the tokens that end an answer."""
    return _LAST_TOKENS.sub("", action_of(content)).rstrip()


def only_call(answer: str) -> JsonCall | None:
    """Returns the only call of an answer, as JSON (in a tag, a fence, alone) or in a family's format."""
    if not (calls := named_calls(answer)):
        parts = TAGGED.findall(answer) or FENCED.findall(answer) or [answer]
        if len(parts) != 1 or not parts[0].lstrip().startswith(("{", "[")):
            return None
        calls = json_calls(parts[0].strip()) or []
    return calls[0] if len(calls) == 1 else None


def command_of(content: str) -> str:
    """Returns the action of an answer as one line of at most 200 characters.

    A command behind a sentence without `Action:` is not searched for: no form distinguishes it from prose.
    """
    return " ".join(action_text(content, COMMAND_ARGUMENTS).split())[:MAX_COMMAND_CHARACTERS]
