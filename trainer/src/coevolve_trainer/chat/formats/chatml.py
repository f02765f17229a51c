"""ChatML and the three families that write it: `<|im_start|>role\\ncontent<|im_end|>\\n` for every message.

Of an assistant's message the header is prompt, the content and `<|im_end|>` are action, and the newline
after it belongs to the next prompt.

An assistant's message is written as it was sampled, thinking included. The vendor's template of Qwen3 does
otherwise: it strips the thinking of earlier turns, and gives the last message an empty one where it has
none. So a prompt there is no continuation of the one before, and what was sampled is not what is trained
on. Where no message thinks, prompts are the vendor's token by token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..format import ChatFormat, Message, Piece, mark, spoken, words

START, END, FILL = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
OF_QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
OF_SMOLLM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

_ASSISTANT = """\
{%- if message['role'] == 'assistant' -%}
{{- '<|im_start|>assistant\\n' -}}
{%- generation -%}{{- message['content'] + '<|im_end|>' -}}{%- endgeneration -%}{{- '\\n' -}}
"""
_TOOL_TURNS = """\
{%- elif message['role'] == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
{{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' -}}
{%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' -%}{{- '<|im_end|>\\n' -}}{%- endif -%}
"""


def _conversation(system: str | None, tool_turns: bool) -> Callable[[Sequence[Message]], Iterator[Piece]]:
    """`system` stands in for a missing system prompt; with `tool_turns` tools' results are a user's turn."""

    def conversation(messages: Sequence[Message]) -> Iterator[Piece]:
        if system is not None and (not messages or messages[0]["role"] != "system"):
            yield from _turn("system", system)
        for index, message in enumerate(messages):
            role, content = message["role"], message["content"]
            if role == "assistant":
                yield from (mark(START), words("assistant\n"), *spoken(content, END), words("\n"))
            elif role == "tool" and tool_turns:
                before = index > 0 and messages[index - 1]["role"] == "tool"
                after = index + 1 < len(messages) and messages[index + 1]["role"] == "tool"
                yield from _result(content, opens=not before, closes=not after)
            else:
                yield from _turn(role, content)

    return conversation


def _turn(role: str, content: str) -> Iterator[Piece]:
    yield from (mark(START), words(f"{role}\n{content}"), mark(END), words("\n"))


def _result(content: str, *, opens: bool, closes: bool) -> Iterator[Piece]:
    if opens:
        yield from (mark(START), words("user"))
    yield from (words("\n"), mark("<tool_response>"), words(f"\n{content}\n"), mark("</tool_response>"))
    if closes:
        yield from (mark(END), words("\n"))


def _template(system: str | None, tool_turns: bool) -> str:
    default = (
        "{%- if not messages or messages[0]['role'] != 'system' -%}\n"
        f"{{{{- '<|im_start|>system\\n{system}<|im_end|>\\n' -}}}}\n"
        "{%- endif -%}\n"
    )
    return (
        (default if system is not None else "")
        + "{%- for message in messages -%}\n"
        + _ASSISTANT
        + (_TOOL_TURNS if tool_turns else "")
        + "{%- else -%}\n"
        + "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}\n"
        + "{%- endif -%}\n"
        + "{%- endfor -%}\n"
        + "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}\n"
    )


def _chatml(
    name: str, *, system: str | None = None, tool_turns: bool = False, stops: bool = True
) -> ChatFormat:
    return ChatFormat(
        name=name,
        conversation=_conversation(system, tool_turns),
        opening=(mark(START), words("assistant\n")),
        end=END,
        stops=(FILL,) if stops else (),
        pads=(FILL, END),
        template=_template(system, tool_turns),
    )


CHATML = _chatml("chatml", stops=False)
"""Of the policies that we make; no default system prompt."""
QWEN2_5 = _chatml("qwen2.5", system=OF_QWEN, tool_turns=True)
QWEN3 = _chatml("qwen3", tool_turns=True)
SMOLLM2 = _chatml("smollm2", system=OF_SMOLLM)
