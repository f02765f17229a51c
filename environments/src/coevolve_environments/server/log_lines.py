"""Texts of clients and environments in a log of one line per event."""

import traceback


def one_line(error: Exception) -> str:
    """Returns the error with the code line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    return escape(f"{type(error).__name__}: {error} ({frames[-1].filename}:{frames[-1].lineno})")


def escape(text: str) -> str:
    """Returns the text without line breaks, which could forge lines of the log."""
    return text.replace("\r", "\\r").replace("\n", "\\n")
