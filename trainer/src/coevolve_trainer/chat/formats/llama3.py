"""Llama 3: `<|start_header_id|>role<|end_header_id|>\\n\\ncontent<|eot_id|>` after `<|begin_of_text|>`.

From 3.1 on, conversations start with a system message that contains dates, and a tool result is JSON with the
role `ipython`. The vendor's template of 3.2 inserts the current date; ours inserts that of 3.1, 26 Jul 2024,
so that a conversation has the same ids every day.

The vendor's templates trim every content. Ours leave an assistant's content as it was sampled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from ...failures import bad_input
from ..format import ChatFormat, Message, Piece, Tool, action, plain, special

BEGIN, HEADER, HEADER_END, END = "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"
DATES = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

_ENVIRONMENT = "Environment: ipython\n"
_TOOLS_HEAD = (
    "Given the following functions, please respond with a JSON for a function call with its proper arguments "
    "that best answers the given prompt.\n\n"
    'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
    "Do not use variables.\n\n"
)

_ASSISTANT_TURN = """\
{%- if message['role'] == 'assistant' -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- generation -%}{{- message['content'] + '<|eot_id|>' -}}{%- endgeneration -%}
"""
_OTHER_TURNS = """\
{%- else -%}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' -}}
{{- message['content'] | trim + '<|eot_id|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}
"""
_TEMPLATE_3 = (
    "{{- '<|begin_of_text|>' -}}\n{%- for message in messages -%}\n" + _ASSISTANT_TURN + _OTHER_TURNS
)
_TEMPLATE_3_1 = (
    """\
{%- set system = messages[0]['content'] | trim if messages and messages[0]['role'] == 'system' else '' -%}
{%- set turns = messages[1:] if messages and messages[0]['role'] == 'system' else messages -%}
{{- '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\\n\\n' -}}
{%- if tools -%}{{- 'Environment: ipython\\n' -}}{%- endif -%}
{{- 'Cutting Knowledge Date: December 2023\\nToday Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' -}}
{%- if tools -%}
{{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
"""
    + "{{- '"
    + _TOOLS_HEAD.replace("\n", "\\n")
    + "' -}}"
    + """
{%- for tool in tools -%}{{- tool | tojson(indent=4) -}}{{- '\\n\\n' -}}{%- endfor -%}
{{- turns[0]['content'] | trim + '<|eot_id|>' -}}
{%- set turns = turns[1:] -%}
{%- endif -%}
{%- for message in turns -%}
"""
    + _ASSISTANT_TURN
    + """\
{%- elif message['role'] == 'tool' -%}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + message['content'] | tojson + '<|eot_id|>' -}}
"""
    + _OTHER_TURNS
)


def _render_3(messages: Sequence[Message]) -> Iterator[Piece]:
    yield special(BEGIN)
    for message in messages:
        yield from _turn(message)


def _render_3_1(messages: Sequence[Message]) -> Iterator[Piece]:
    system, turns = _split(messages)
    yield from (special(BEGIN), *_header("system"), plain(DATES + system), special(END))
    yield from _turns(turns)


def _render_tools_3_1(messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Piece]:
    """Renders functions in the first user message, where the vendor's template puts them by default.

    Raises:
        JobFailure: `bad-input` when the conversation does not begin with a user message.
    """
    system, turns = _split(messages)
    if not turns or turns[0]["role"] != "user":
        raise bad_input(
            "messages", "functions without a user message", "a user message first, as llama3.1 needs"
        )
    yield from (special(BEGIN), *_header("system"), plain(f"{_ENVIRONMENT}{DATES}{system}"), special(END))
    listed = "".join(f"{json.dumps(tool, ensure_ascii=False, indent=4)}\n\n" for tool in tools)
    yield from (*_header("user"), plain(_TOOLS_HEAD + listed + turns[0]["content"].strip()), special(END))
    yield from _turns(turns[1:])


def _split(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0]["role"] == "system":
        return messages[0]["content"].strip(), messages[1:]
    return "", messages


def _turns(messages: Sequence[Message]) -> Iterator[Piece]:
    for message in messages:
        if message["role"] == "tool":
            result = json.dumps(message["content"], ensure_ascii=False)
            yield from (*_header("ipython"), plain(result), special(END))
        else:
            yield from _turn(message)


def _turn(message: Message) -> Iterator[Piece]:
    yield from _header(message["role"])
    if message["role"] == "assistant":
        yield from action(message["content"], END)
    else:
        yield from (plain(message["content"].strip()), special(END))


def _header(role: str) -> tuple[Piece, ...]:
    return special(HEADER), plain(role), special(HEADER_END), plain("\n\n")


def _llama(
    name: str,
    render: Callable[[Sequence[Message]], Iterator[Piece]],
    template: str,
    render_tools: Callable[[Sequence[Message], Sequence[Tool]], Iterator[Piece]] | None = None,
) -> ChatFormat:
    return ChatFormat(
        name=name,
        render=render,
        generation_prompt=_header("assistant"),
        end_token=END,
        other_stop_tokens=("<|end_of_text|>", "<|eom_id|>"),
        pad_tokens=("<|finetune_right_pad_id|>", "<|end_of_text|>"),
        template=template,
        render_tools=render_tools,
    )


LLAMA3 = _llama("llama3", _render_3, _TEMPLATE_3)
LLAMA3_1 = _llama("llama3.1", _render_3_1, _TEMPLATE_3_1, _render_tools_3_1)
