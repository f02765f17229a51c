"""The server: OpenEnv 0.10 over WebSocket and HTTP, and the data routes."""
