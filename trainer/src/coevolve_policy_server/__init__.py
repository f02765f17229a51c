"""A small policy server in vLLM's dialect of the OpenAI protocol, for policies that a CPU can serve."""
