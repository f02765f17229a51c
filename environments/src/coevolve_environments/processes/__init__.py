"""Child processes for engines that cannot run inside the server: pools, limits, sandbox."""
