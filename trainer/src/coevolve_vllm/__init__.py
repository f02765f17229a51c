"""Serves policies with vLLM behind the policy server's routes."""
