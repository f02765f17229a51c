"""The thinking of a model before its answer, in the tags of Qwen3, DeepSeek-R1 and others."""

import re

_CUT_OFF = re.compile(r"^[ \t]*<think>", re.MULTILINE)
END = "</think>"


def after_thinking(text: str) -> str:
    """Returns the answer after the last end of thinking, and before a line that begins thinking."""
    return _CUT_OFF.split(text.rpartition(END)[2], maxsplit=1)[0]
