"""Files that survive a crash, and the policy directory."""
