"""One folder per environment, and modules that several environments share."""
