"""The JVM of a driver: find Java, start it, stop it, and shorten its start-up."""
