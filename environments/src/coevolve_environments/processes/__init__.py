"""What runs the episodes: sessions of one environment, their capacity and deadlines."""
