"""Plans as Spark queries, and the life of a query."""
