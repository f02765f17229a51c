"""A small policy server for CPUs, compatible with vLLM's version of the OpenAI API."""
