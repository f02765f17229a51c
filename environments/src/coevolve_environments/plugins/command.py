"""The action of a text game: one line."""

from coevolve_environments.plugins.spellings import action_text

MAX_COMMAND_CHARACTERS = 200
"""No command of the text games is longer, and the parsers' work grows with the text."""
COMMAND_ARGUMENTS = ("command", "action")
"""Names of the argument of a JSON call that is a command."""


def command_of(content: str) -> str:
    """Returns the action of an answer as one line of at most 200 characters.

    A command behind a sentence without `Action:` is not searched for: no form tells it from prose.
    """
    return " ".join(action_text(content, COMMAND_ARGUMENTS).split())[:MAX_COMMAND_CHARACTERS]
