"""What takes time, as spans: what they are made of, and where they are sent."""
