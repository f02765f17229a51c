"""InterCode-SQL: databases, sandbox, score, questions and the task generator."""
