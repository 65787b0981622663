"""Reading topics of Kafka."""
