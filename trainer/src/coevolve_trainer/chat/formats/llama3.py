"""Llama 3: `<|start_header_id|>role<|end_header_id|>\\n\\ncontent<|eot_id|>` after `<|begin_of_text|>`.

From 3.1 on, conversations start with a system message that contains dates, and a tool result is JSON with the
role `ipython`. The vendor's template of 3.2 inserts the current date; ours inserts that of 3.1, 26 Jul 2024,
so that a conversation has the same ids every day.

The vendor's templates trim every content. Ours leave an assistant's content as it was sampled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from ..format import ChatFormat, Message, Piece, action, plain, special

BEGIN, HEADER, HEADER_END, END = "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"
DATES = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

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
{{- 'Cutting Knowledge Date: December 2023\\nToday Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' -}}
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
    has_system = bool(messages) and messages[0]["role"] == "system"
    system = messages[0]["content"].strip() if has_system else ""
    yield from (special(BEGIN), *_header("system"), plain(DATES + system), special(END))
    for message in messages[1:] if has_system else messages:
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


def _llama(name: str, render: Callable[[Sequence[Message]], Iterator[Piece]], template: str) -> ChatFormat:
    return ChatFormat(
        name=name,
        render=render,
        generation_prompt=_header("assistant"),
        end_token=END,
        other_stop_tokens=("<|end_of_text|>", "<|eom_id|>"),
        pad_tokens=("<|finetune_right_pad_id|>", "<|end_of_text|>"),
        template=template,
    )


LLAMA3 = _llama("llama3", _render_3, _TEMPLATE_3)
LLAMA3_1 = _llama("llama3.1", _render_3_1, _TEMPLATE_3_1)
