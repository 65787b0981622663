"""Our runs against plain PySpark, side by side on one machine in one session."""
