"""Our own stateful operators, and readers of Spark's state."""
