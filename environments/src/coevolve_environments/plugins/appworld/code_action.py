"""Code of an action: Python in a fence, after `Action:`, in the argument of a call, or alone."""

import ast
import re

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.spellings import bare_answer, only_call

_FENCE = re.compile(
    r"```(?:python3?|py|ipython|tool_code)?[ \t]*\r?\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL | re.IGNORECASE
)
_MARK = re.compile(r"^[ \t]*action[ \t]*:", re.IGNORECASE | re.MULTILINE)
_ARGUMENTS = ("code", "python", "source", "command", "action")


def code_of(content: str) -> str | None:
    """Returns the code of an answer; None without any.

    Of several blocks the first counts, because the policy wrote the later ones before it saw a result. A call
    that is JSON has its code in its only argument; a call of an API by name is no code. Text alone is code if
    it is Python and uses `apis`.
    """
    if (call := only_call(bare_answer(content))) is not None:
        values = list(call.arguments.items())
        is_code = len(values) == 1 and values[0][0] in _ARGUMENTS and isinstance(values[0][1], str)
        return str(values[0][1]) if is_code else None
    if fenced := _FENCE.search(content):
        return fenced.group(1)
    if _MARK.search(content):
        return action_of(content)
    bare = bare_answer(content)
    return bare if "apis." in bare and _is_python(bare) else None


def code_action(code: str) -> str:
    """Returns an assistant text with the given code."""
    return f"```python\n{code.strip()}\n```"


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
