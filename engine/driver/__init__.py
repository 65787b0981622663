"""The process that does the work of one run: its life, its work with Spark, its calls home."""
