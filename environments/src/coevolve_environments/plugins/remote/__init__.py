"""What the adapters to servers of the operator's share: the HTTP client and the life of an episode."""
