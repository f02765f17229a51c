"""Code of an action: Python in a fence, or after `Action:`."""

import re

from coevolve_environments.plugins.react import action_of

_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"^[ \t]*action[ \t]*:", re.IGNORECASE | re.MULTILINE)


def code_of(content: str) -> str | None:
    """Returns the first fenced block, or else the text after the last `Action:`; None without either.

    Later blocks are ignored, because the policy wrote them before it saw a result.
    """
    if fenced := _FENCE.search(content):
        return fenced.group(1)
    return action_of(content) if _MARK.search(content) else None


def code_action(code: str) -> str:
    """Returns an assistant text with the given code."""
    return f"```python\n{code.strip()}\n```"
