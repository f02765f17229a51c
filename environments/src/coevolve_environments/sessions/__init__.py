"""Sessions of the hosted environments: leases, timeouts, capacity, metrics."""
