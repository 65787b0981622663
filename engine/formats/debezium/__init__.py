"""Debezium changelog records."""
