"""Log-probabilities and the equations over them; pure functions."""
