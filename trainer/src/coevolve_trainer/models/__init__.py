"""Makes, loads and stores the decoder."""
