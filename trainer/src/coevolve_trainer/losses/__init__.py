"""Log-probabilities and the losses over them; the losses are pure functions."""
