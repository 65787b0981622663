"""A log of what was received from systems that send everything once."""
