"""The ReAct form of an action: a thought, then the action, as in ETO's conversations.

Source: Yao et al. 2022, arXiv:2210.03629 (ReAct); Song et al. 2024, arXiv:2403.02502 (ETO). A turn reads
"Thought: ...\\nAction: ..." there. Every environment accepts actions with and without this form.
"""

import re

_ACTION = re.compile(r"^[ \t]*action[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)


def action_of(content: str) -> str:
    """Returns the text after the last `Action:` at the start of a line, in any case, or else the whole text.

    The text is stripped. Code fences stay, because they name a language.
    """
    return _ACTION.split(content)[-1].strip()


def react(action: str, thought: str | None = None) -> str:
    """Returns the action in ReAct form; without a thought only the line of the action."""
    return f"Action: {action}" if thought is None else f"Thought: {thought.strip()}\nAction: {action}"
