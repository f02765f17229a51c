"""What the bfcl plug-in is made of: entries of the package, the parser of calls, and the episode."""
