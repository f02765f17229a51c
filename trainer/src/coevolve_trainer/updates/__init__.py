"""The training loops: what an update is, when it is committed, how it is resumed."""
