"""The engine trl: TRL's trainers on accelerate, behind this package's jobs.

Rows, batch order, learning rates, files and failures are those of the builtin engine; TRL never reads text.
TRL, accelerate and datasets are imported in this folder only.
"""
