"""ALFWorld: the text engine in child processes, with the operator's copy of the games."""
