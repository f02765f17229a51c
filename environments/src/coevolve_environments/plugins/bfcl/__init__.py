"""BFCL multi-turn: entries of the package, parser of calls, episode, composed tasks."""
