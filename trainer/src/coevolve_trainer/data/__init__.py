"""From files to token rows: datasets, rollouts, batches."""
