"""Forward and backward passes that do less work than those of transformers and peft."""
