"""Exactly-once as pure decisions and small files. No Spark here."""
