"""webshop: an adapter to a WebShop text server that the operator runs."""
