"""vLLM behind the policy server's routes: starts it, gives it adapters, and speaks to it in token ids."""
