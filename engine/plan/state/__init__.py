"""State of a plan's operators, and its form."""
