"""Messages to token ids and back, the chat formats, and the tokenizer of a new policy."""
