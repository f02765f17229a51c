"""ChatML and its three variants: `<|im_start|>role\\ncontent<|im_end|>\\n` for every message.

In an assistant's message the header is prompt, the content and `<|im_end|>` are action, and the newline after
them belongs to the next prompt.

An assistant's message is rendered as it was sampled, including its thinking. Qwen3's own template removes the
thinking of earlier turns, and adds an empty one to a last message without any. With it a prompt would not
extend the previous prompt, and the training tokens would differ from the sampled ones. For messages without
thinking, prompts are equal to Qwen3's token by token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..format import ChatFormat, Message, Piece, action, plain, special

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
QWEN_SYSTEM_PROMPT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SMOLLM_SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

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
        if system is not None and (not messages or messages[0]["role"] != "system"):
            yield from _turn("system", system)
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

    return render


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
    return (
        (default if system is not None else "")
        + "{%- for message in messages -%}\n"
        + _ASSISTANT_TURN
        + (_TOOL_TURN if tools_as_user else "")
        + "{%- else -%}\n"
        + "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}\n"
        + "{%- endif -%}\n"
        + "{%- endfor -%}\n"
        + "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}\n"
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
    )


CHATML = _chatml("chatml", stops_at_pad=False)
"""Format of the policies of method `init`; no default system prompt."""
QWEN2_5 = _chatml("qwen2.5", system=QWEN_SYSTEM_PROMPT, tools_as_user=True)
QWEN3 = _chatml("qwen3", tools_as_user=True)
SMOLLM2 = _chatml("smollm2", system=SMOLLM_SYSTEM_PROMPT)
