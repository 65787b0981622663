"""The Java half of a driver: which Java it is, how it is started, and what starts it sooner."""
