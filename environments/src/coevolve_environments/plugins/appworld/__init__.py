"""AppWorld: the original engine in child processes, with the published data or our small world."""
