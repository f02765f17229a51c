"""ChatML and its three variants: `<|im_start|>role\\ncontent<|im_end|>\\n` for every message.

In an assistant's message the header is prompt, the content and `<|im_end|>` are action, and the newline after
them belongs to the next prompt.

An assistant's message is rendered as it was sampled, including its thinking. Qwen3's own template removes the
thinking of earlier turns, and adds an empty one to a last message without any. With it a prompt would not
extend the previous prompt, and the training tokens would differ from the sampled ones. For messages without
thinking, prompts are equal to Qwen3's token by token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from ..format import ChatFormat, Message, Piece, Tool, action, plain, special

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
QWEN_SYSTEM_PROMPT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SMOLLM_SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)
_CALL_TAG = re.compile("(</?tool_call>)")

_ASSISTANT_TURN = """\
{%- if message['role'] == 'assistant' -%}
{{- '<|im_start|>assistant\\n' -}}
{%- generation -%}{{- message['content'] + '<|im_end|>' -}}{%- endgeneration -%}{{- '\\n' -}}
"""
_TOOL_TURN = """\
{%- elif message['role'] == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
{{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' -}}
{%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' -%}{{- '<|im_end|>\\n' -}}{%- endif -%}
"""


def _renderer(system: str | None, tools_as_user: bool) -> Callable[[Sequence[Message]], Iterator[Piece]]:
    """`system` is the default system prompt; `tools_as_user` renders tool results as a user turn."""

    def render(messages: Sequence[Message]) -> Iterator[Piece]:
        if system is not None and not _has_system(messages):
            yield from _turn("system", system)
        yield from _turns(messages, tools_as_user)

    return render


def _tools_renderer(system: str | None) -> Callable[[Sequence[Message], Sequence[Tool]], Iterator[Piece]]:
    """Renders functions in the system message, as Qwen2.5 and Qwen3 do."""

    def render(messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Piece]:
        has_system = _has_system(messages)
        content = messages[0]["content"] if has_system else system
        before = "" if content is None else f"{content}\n\n"
        lines = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tools)
        yield from (special(START), plain(f"system\n{before}{_TOOLS_HEAD}{lines}"))
        for index, text in enumerate(_CALL_TAG.split(_TOOLS_TAIL)):
            yield special(text) if index % 2 else plain(text)
        yield from (special(END), plain("\n"))
        yield from _turns(messages[1:] if has_system else messages, tools_as_user=True)

    return render


def _has_system(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[0]["role"] == "system"


def _turns(messages: Sequence[Message], tools_as_user: bool) -> Iterator[Piece]:
    for index, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "assistant":
            yield from (special(START), plain("assistant\n"), *action(content, END), plain("\n"))
        elif role == "tool" and tools_as_user:
            is_first = index == 0 or messages[index - 1]["role"] != "tool"
            is_last = index + 1 == len(messages) or messages[index + 1]["role"] != "tool"
            yield from _tool_result(content, is_first=is_first, is_last=is_last)
        else:
            yield from _turn(role, content)


def _turn(role: str, content: str) -> Iterator[Piece]:
    yield from (special(START), plain(f"{role}\n{content}"), special(END), plain("\n"))


def _tool_result(content: str, *, is_first: bool, is_last: bool) -> Iterator[Piece]:
    """Renders one of several consecutive tool results, which share one user turn."""
    if is_first:
        yield from (special(START), plain("user"))
    yield from (plain("\n"), special("<tool_response>"), plain(f"\n{content}\n"), special("</tool_response>"))
    if is_last:
        yield from (special(END), plain("\n"))


def _template(system: str | None, tools_as_user: bool) -> str:
    default = (
        "{%- if not messages or messages[0]['role'] != 'system' -%}\n"
        f"{{{{- '<|im_start|>system\\n{system}<|im_end|>\\n' -}}}}\n"
        "{%- endif -%}\n"
    )
    first = default if system is not None else ""
    return (
        (_tools_template(system, first) if tools_as_user else first)
        + "{%- for message in messages -%}\n"
        + ("{%- if not (tools and loop.first and message['role'] == 'system') -%}\n" if tools_as_user else "")
        + _ASSISTANT_TURN
        + (_TOOL_TURN if tools_as_user else "")
        + "{%- else -%}\n"
        + "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}\n"
        + "{%- endif -%}\n"
        + ("{%- endif -%}\n" if tools_as_user else "")
        + "{%- endfor -%}\n"
        + "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}\n"
    )


def _tools_template(system: str | None, without_tools: str) -> str:
    head, tail = (text.replace("\n", "\\n") for text in (_TOOLS_HEAD, _TOOLS_TAIL))
    default = "" if system is None else f"{{%- else -%}}{{{{- '{system}\\n\\n' -}}}}"
    return (
        "{%- if tools -%}\n{{- '<|im_start|>system\\n' -}}\n"
        "{%- if messages and messages[0]['role'] == 'system' -%}{{- messages[0]['content'] + '\\n\\n' -}}"
        f"{default}{{%- endif -%}}\n"
        f"{{{{- '{head}' -}}}}\n"
        "{%- for tool in tools -%}{{- '\\n' -}}{{- tool | tojson -}}{%- endfor -%}\n"
        f"{{{{- '{tail}<|im_end|>\\n' -}}}}\n"
        f"{{%- else -%}}\n{without_tools}{{%- endif -%}}\n"
    )


def _chatml(
    name: str, *, system: str | None = None, tools_as_user: bool = False, stops_at_pad: bool = True
) -> ChatFormat:
    return ChatFormat(
        name=name,
        render=_renderer(system, tools_as_user),
        generation_prompt=(special(START), plain("assistant\n")),
        end_token=END,
        other_stop_tokens=(PAD,) if stops_at_pad else (),
        pad_tokens=(PAD, END),
        template=_template(system, tools_as_user),
        render_tools=_tools_renderer(system) if tools_as_user else None,
    )


CHATML = _chatml("chatml", stops_at_pad=False)
"""Format of the policies of method `init`; no default system prompt."""
QWEN2_5 = _chatml("qwen2.5", system=QWEN_SYSTEM_PROMPT, tools_as_user=True)
QWEN3 = _chatml("qwen3", tools_as_user=True)
SMOLLM2 = _chatml("smollm2", system=SMOLLM_SYSTEM_PROMPT)
