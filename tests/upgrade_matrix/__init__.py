"""Every kind of state with every kind of change, and what the plan says of it."""
