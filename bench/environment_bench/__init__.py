"""Benchmark of the environment server, with the official OpenEnv server as comparison."""
