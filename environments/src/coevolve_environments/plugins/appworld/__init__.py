"""AppWorld: the real engine in child processes, with the published data or a small world of ours."""
