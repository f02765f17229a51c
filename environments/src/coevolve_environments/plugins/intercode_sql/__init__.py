"""What the intercode-sql plug-in is made of: databases, sandbox, score, questions and the task generator."""
