"""Creates, imports, loads and stores models."""
