"""What the policy said, as an action of WebShop."""

import re

from coevolve_environments.plugins.react import action_of

FORM = "search[<keywords>] or click[<a value on the page>]"
_ACTION = re.compile(r"(search|click)\s*\[(.+)\]", re.IGNORECASE)


def shop_action(content: str) -> str | None:
    """`search[...]` or `click[...]` of the first line after the last `Action:`, in the shop's own spelling.

    None where the text holds no such action: the shop would do nothing then, so it need not be asked.
    """
    lines = action_of(content).splitlines()
    found = _ACTION.fullmatch(lines[0].strip()) if lines else None
    if found is None:
        return None
    name, value = found[1].lower(), found[2].strip()
    return f"{name}[{value}]" if value else None
