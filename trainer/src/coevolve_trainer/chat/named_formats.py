"""Chat formats by name: templates of this package, for families whose own templates change a conversation.

Qwen3's own template removes the thinking of earlier turns, and adds an empty one to a last message without
any. Llama's trim an assistant's message, and Llama 3.2's inserts the current date. With them a prompt would
not extend the previous prompt, and the training tokens would differ from the sampled ones. Ours keep an
assistant's message as it was sampled, and date every conversation 26 Jul 2024, as Llama 3.1's do. Tests
compare all other tokens with the vendors' templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tokenizers import Tokenizer

from .template_format import TemplateFormat
from .template_renderer import named_templates


class _Family(NamedTuple):
    tokens: tuple[str, ...]
    """Tokens without which the format cannot be used."""
    variables: Mapping[str, str]
    has_functions: bool = False
    """True if the template renders functions in the family's way."""
    more_stop_tokens: tuple[str, ...] = ()


_CHATML = ("<|im_start|>", "<|im_end|>")
_LLAMA = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_QWEN_VARIABLES = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
_LLAMA_VARIABLES = {"eos_token": "<|end_of_text|>", "pad_token": "<|finetune_right_pad_id|>"}
_FAMILIES = {
    # The format of the policies of method `init`, whose server stops at no other token
    "chatml": _Family(_CHATML, {"pad_token": "<|endoftext|>"}),
    "qwen2.5": _Family(_CHATML, _QWEN_VARIABLES, has_functions=True),
    "qwen3": _Family(_CHATML, _QWEN_VARIABLES, has_functions=True),
    "smollm2": _Family(_CHATML, _QWEN_VARIABLES),
    "llama3": _Family(_LLAMA, _LLAMA_VARIABLES, more_stop_tokens=("<|eom_id|>",)),
    "llama3.1": _Family(_LLAMA, _LLAMA_VARIABLES, has_functions=True, more_stop_tokens=("<|eom_id|>",)),
}
DEFAULT = "chatml"
NAMED_FORMATS = tuple(_FAMILIES)
WITH_FUNCTIONS = tuple(name for name, family in _FAMILIES.items() if family.has_functions)


def named_format(name: str, tokenizer: Tokenizer) -> TemplateFormat:
    """Returns the format for a tokenizer that has its tokens; see `missing_token`."""
    family = _FAMILIES[name]
    return TemplateFormat(
        named_templates()[name],
        family.variables,
        tuple(tokenizer.get_added_tokens_decoder().values()),
        name=name,
        more_stop_tokens=family.more_stop_tokens,
    ).with_shape()


def missing_token(name: str, tokenizer: Tokenizer) -> str | None:
    """Returns the first token that the format needs and the tokenizer lacks; None if it has all."""
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    return next((token for token in _FAMILIES[name].tokens if token not in added), None)
