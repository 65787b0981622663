"""DAG linter: finds mistakes in a user's DAG files that no task reports in time. It parses files, and never runs
them."""
