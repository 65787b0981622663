"""What is wrong with a user's DAG files that no task says until it is too late. They are read, and never run."""
