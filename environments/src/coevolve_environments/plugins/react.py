"""The ReAct form of an action: a thought, then the action, as in ETO's conversations.

Source: Yao et al. 2022, arXiv:2210.03629 (ReAct); Song et al. 2024, arXiv:2403.02502 (ETO). A turn reads
"Thought: ...\\nAction: ..." there. Every environment takes its actions in this form and bare.
"""

import re

_ACTION = re.compile(r"^[ \t]*action[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)


def action_of(content: str) -> str:
    """The text after the last `Action:` that begins a line, however it is capitalised; without one the whole
    text. Stripped; code fences are left to the caller, whose language they name.
    """
    return _ACTION.split(content)[-1].strip()


def react(action: str, thought: str | None = None) -> str:
    """The action in ReAct form; without a thought it is the line of the action alone."""
    return f"Action: {action}" if thought is None else f"Thought: {thought.strip()}\nAction: {action}"
