"""The thinking of a model before its answer, in the tags of Qwen3, DeepSeek-R1 and others."""

START = "<think>"
END = "</think>"


def after_thinking(text: str) -> str:
    """Returns the answer after the last end of thinking; nothing if the thinking was cut off."""
    answer = text.rpartition(END)[2]
    return answer.partition(START)[0] if answer.lstrip().startswith(START) else answer
