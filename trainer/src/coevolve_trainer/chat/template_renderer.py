"""Renders a model's own Jinja template, in the sandbox of transformers.

Transformers is imported inside functions: the import takes 0.7 s, which policies of a verified family need
not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..failures import bad_input
from .format import Message, Tool

FIXED_TIME = datetime(2024, 7, 26)
"""The date in every prompt, the default of Llama's templates: a conversation has the same ids every day."""
FIXED_DATE = FIXED_TIME.strftime("%d %b %Y")


def render_template(
    template: str,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    add_generation_prompt: bool,
    variables: Mapping[str, str],
) -> str:
    """Returns the text that `template` renders; `variables` are its special tokens, such as `bos_token`.

    Raises:
        JobFailure: `bad-input` when the template rejects the messages, or fails.
    """
    # transformers' public function has no parameter for the clock
    from transformers.utils.chat_template_utils import _compile_jinja_template

    try:
        compiled: Any = _compile_jinja_template(template)
        return str(
            compiled.render(
                messages=[dict(message) for message in messages],
                tools=list(tools) or None,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **{"date_string": FIXED_DATE, "strftime_now": FIXED_TIME.strftime, **variables},
            )
        )
    except Exception as error:  # a template can raise anything
        roles = ", ".join(message["role"] for message in messages)
        found = f"one that rejects the roles {roles}: {type(error).__name__}: {error}"
        raise bad_input("chat template", found, "one that renders them") from None
