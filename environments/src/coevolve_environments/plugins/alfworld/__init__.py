"""ALFWorld: the text engine in child processes, with the games that the operator has."""
