"""Training jobs of coevolve: a job directory in, a hashed policy directory out; knows no service."""
