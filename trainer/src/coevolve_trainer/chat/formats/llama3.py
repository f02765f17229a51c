"""Llama 3: `<|start_header_id|>role<|end_header_id|>\\n\\ncontent<|eot_id|>` after `<|begin_of_text|>`.

3.1 and later begin with a system message that names dates, and write the result of a tool as JSON under the
role `ipython`. The vendor's template of 3.2 names the day on which it is rendered; ours names that of 3.1,
26 Jul 2024, so that a conversation has the same ids every day.

The vendor's templates trim every content. Ours leave an assistant's as it was sampled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..format import ChatFormat, Message, Piece, mark, spoken, words

BEGIN, HEADER, HEADER_END, END = "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"
DATES = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

_TURNS = """\
{%- if message['role'] == 'assistant' -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- generation -%}{{- message['content'] + '<|eot_id|>' -}}{%- endgeneration -%}
"""
_OTHERS = """\
{%- else -%}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' -}}
{{- message['content'] | trim + '<|eot_id|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}
"""
_TEMPLATE_3 = "{{- '<|begin_of_text|>' -}}\n{%- for message in messages -%}\n" + _TURNS + _OTHERS
_TEMPLATE_3_1 = (
    """\
{%- set system = messages[0]['content'] | trim if messages and messages[0]['role'] == 'system' else '' -%}
{%- set turns = messages[1:] if messages and messages[0]['role'] == 'system' else messages -%}
{{- '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\\n\\n' -}}
{{- 'Cutting Knowledge Date: December 2023\\nToday Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' -}}
{%- for message in turns -%}
"""
    + _TURNS
    + """\
{%- elif message['role'] == 'tool' -%}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + message['content'] | tojson + '<|eot_id|>' -}}
"""
    + _OTHERS
)


def _first(messages: Sequence[Message]) -> Iterator[Piece]:
    yield mark(BEGIN)
    for message in messages:
        yield from _turn(message)


def _later(messages: Sequence[Message]) -> Iterator[Piece]:
    has_system = bool(messages) and messages[0]["role"] == "system"
    system = messages[0]["content"].strip() if has_system else ""
    yield from (mark(BEGIN), *_header("system"), words(DATES + system), mark(END))
    for message in messages[1:] if has_system else messages:
        if message["role"] == "tool":
            result = json.dumps(message["content"], ensure_ascii=False)
            yield from (*_header("ipython"), words(result), mark(END))
        else:
            yield from _turn(message)


def _turn(message: Message) -> Iterator[Piece]:
    yield from _header(message["role"])
    if message["role"] == "assistant":
        yield from spoken(message["content"], END)
    else:
        yield from (words(message["content"].strip()), mark(END))


def _header(role: str) -> tuple[Piece, ...]:
    return mark(HEADER), words(role), mark(HEADER_END), words("\n\n")


def _llama(name: str, *, first: bool) -> ChatFormat:
    return ChatFormat(
        name=name,
        conversation=_first if first else _later,
        opening=_header("assistant"),
        end=END,
        stops=("<|end_of_text|>", "<|eom_id|>"),
        pads=("<|finetune_right_pad_id|>", "<|end_of_text|>"),
        template=_TEMPLATE_3 if first else _TEMPLATE_3_1,
    )


LLAMA3 = _llama("llama3", first=True)
LLAMA3_1 = _llama("llama3.1", first=False)
