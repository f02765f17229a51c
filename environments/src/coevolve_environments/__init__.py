"""Agent environments served over OpenEnv's wire: one WebSocket is one episode."""
