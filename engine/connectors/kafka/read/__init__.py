"""Read topics of Kafka."""
