"""Crash-safe files, disk space and the policy directory."""
