"""env-service: an adapter to the env-service protocol of AgentEvolver."""
