"""Topics of MQTT brokers: read through an intake log, written at least once."""
