"""Compares coevolve's trainer with TRL, or with a plain transformers loop: `npm run bench:trainer`."""
