"""warehouse: pick the items of an order, with graded rewards."""
