"""Messages to token ids and back: the one chat encoding, and the tokenizer of a fresh policy."""
