"""The engine trl: TRL's trainers on accelerate, behind this package's jobs.

Rows, batch order, learning rates, files and failures equal the builtin engine's; TRL never reads text.
TRL, accelerate and datasets are imported in this folder only.
"""
