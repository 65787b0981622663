"""DAGs to learn from, and a demonstration that runs one of them."""
