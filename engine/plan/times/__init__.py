"""Windows and watermarks of a plan: when windows end, how far output is complete."""
