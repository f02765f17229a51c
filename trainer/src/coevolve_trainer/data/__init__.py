"""Datasets and rollouts as token rows, and their division into batches and micro-batches."""
