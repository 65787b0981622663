"""Changes of rows as Debezium writes them."""
