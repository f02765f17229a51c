"""HTTP client and episode base class of the adapters to the operator's own servers."""
