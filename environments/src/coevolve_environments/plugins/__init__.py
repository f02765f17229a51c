"""One folder per environment."""
