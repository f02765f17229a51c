"""The training loops: updates, checkpoints, and how a killed job resumes (resume.py)."""
