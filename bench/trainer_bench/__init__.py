"""Measures coevolve's trainer beside TRL, or beside a plain transformers loop: `npm run bench:trainer`."""
