"""Random edits of running queries: what the plan says of each, what becomes of it, and what it must have written."""
