"""The prompts of the published evaluation for models without a function-calling API.

The texts are those of the installed package, so that zero-shot figures can be compared with published ones.
"""

import json

from coevolve_environments.plugins.bfcl.entries import Entry, documents_of

_RETURN, _DOCUMENTS, _PROMPT, _STYLE = (
    "python",
    "json",
    "plaintext",
    "classic",
)  # the package's default format

Message = dict[str, str]


def published_opening(entry: Entry) -> list[Message]:
    """Returns the system prompt with the functions, and the first request."""
    from bfcl_eval.constants import default_prompts as package

    style = package.PROMPT_STYLE_TEMPLATES[_STYLE]
    functions = json.dumps(documents_of(entry, 0), indent=4)
    system: str = package.PROMPT_TEMPLATE_MAPPING[_PROMPT].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style["tool_call_no_tag"].format(
            output_format=package.OUTPUT_FORMAT_MAPPING[_RETURN],
            param_types=package.PARAM_TYPE_MAPPING[_RETURN],
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(format=_DOCUMENTS, functions=functions),
    )
    first, *rest = entry.turns[0]
    if first["role"] == "system":
        return [{"role": "system", "content": f"{system}\n\n{first['content']}"}, *rest]
    return [{"role": "system", "content": system}, first, *rest]


def published_addition(entry: Entry, turn: int) -> Message:
    """Returns the request of a turn in which further functions become available."""
    from bfcl_eval.constants.default_prompts import DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING

    documents = {document["name"]: document for document in documents_of(entry, turn)}
    added = [documents[name] for name in entry.held_back[turn] if name in documents]
    return {
        "role": "user",
        "content": DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING.format(functions=added),
    }
