#!/bin/sh
# Runs a compiler without debug symbols and costly optimizations. ALFWorld's planner asks for both: they take a third of the
# time of its compilation, and no test became slower without them.
exec "$@" -O1 -g0
