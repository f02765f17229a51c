"""Training jobs of coevolve: files in, a policy out."""
