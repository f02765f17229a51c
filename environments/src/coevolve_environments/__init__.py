"""Agent environments served over OpenEnv's protocol: one WebSocket per episode."""
