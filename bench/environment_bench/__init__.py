"""Measures the environment server, and the official OpenEnv server beside it."""
