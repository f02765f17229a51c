"""Renders chat templates: a model's own in the sandbox of transformers, this package's named ones without it.

The import of transformers takes 0.9 s of a processor, for which a policy with a named format need not wait.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Environment, TemplateError, nodes

from ..failures import bad_input
from .format import Message, Tool
from .render_deadline import DeadlineExceeded, deadline

FIXED_TIME = datetime(2024, 7, 26)
"""The date in every prompt, the default of Llama's templates: a conversation has the same ids every day."""
FIXED_DATE = FIXED_TIME.strftime("%d %b %Y")
RENDER_SECONDS = 10.0
"""Of a model's own template: a conversation of 100 turns takes some milliseconds."""


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
        JobFailure: `bad-input` when the template rejects the messages, fails, or does not end.
    """
    try:
        render = partial(
            _compile(template).render,
            messages=[dict(message) for message in messages],
            tools=list(tools) or None,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **{"date_string": FIXED_DATE, "strftime_now": FIXED_TIME.strftime, **variables},
        )
        if template in named_templates().values():
            return str(render())
        with deadline(RENDER_SECONDS):
            return str(render())
    except DeadlineExceeded:
        found = f"one that needs more than {RENDER_SECONDS:g} s for {len(messages)} messages"
        raise bad_input("chat template", found, "one that ends") from None
    except Exception as error:  # a template can raise anything
        roles = ", ".join(message["role"] for message in messages)
        found = f"one that rejects the roles {roles}: {type(error).__name__}: {error}"
        raise bad_input("chat template", found, "one that renders them") from None


def parse_template(template: str) -> nodes.Template:
    """Returns the syntax tree of a template."""
    environment: Environment = _compile(template).environment
    return environment.parse(template)


@cache
def named_templates() -> dict[str, str]:
    """Returns the templates of this package's named formats, by name."""
    return {path.stem: path.read_text() for path in (Path(__file__).parent / "templates").glob("*.jinja")}


@lru_cache(maxsize=16)
def _compile(template: str) -> Any:
    if template in named_templates().values():
        return _compile_named(template)
    # transformers' public function has no parameter for the clock
    from transformers.utils.chat_template_utils import _compile_jinja_template

    return _compile_jinja_template(template)


def _compile_named(template: str) -> Any:
    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    environment = Environment()
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals["raise_exception"] = raise_exception
    # Transformers marks an assistant's tokens by these tags; an encoder finds them by its placeholders
    return environment.from_string(re.sub(r"{%- (end)?generation -%}", "", template))
